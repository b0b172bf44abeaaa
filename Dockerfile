# Puente in a container. Nothing is compiled: Node runs the TypeScript, and better-sqlite3 brings its binary.
# The base is named by digest (amd64 and arm64), so that the same commit always makes the same image. A newer one is printed by
#   docker buildx imagetools inspect node:24-bookworm-slim --format '{{.Manifest.Digest}}'
ARG NODE_IMAGE=node:24.21.0-bookworm-slim@sha256:2fe369e969550cde8e867afc3fe370b260140cab4a23d467074295b42163d553
FROM ${NODE_IMAGE} AS libraries
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
# The pinned Node of the development dependencies stays out; the image's own Node is the same major version.
RUN npm ci --omit=dev

FROM ${NODE_IMAGE}
ENV NODE_ENV=production \
    MALLOC_ARENA_MAX=2 \
    NODE_COMPILE_CACHE=/app/.cache \
    PUENTE_DATA_DIR=/app/data \
    PUENTE_PUBLIC_HOST=0.0.0.0 \
    PUENTE_PUBLIC_PORT=8080 \
    PUENTE_OPS_PORT=8081
# The ops door stays on the container's loopback. To publish it, set PUENTE_OPS_HOST=0.0.0.0 and PUENTE_OPS_TOKEN:
# without a token Puente refuses to start.
WORKDIR /app
COPY --from=libraries /app/node_modules ./node_modules
COPY package.json LICENSE ./
COPY config ./config
COPY mappings ./mappings
COPY src ./src
RUN mkdir data .cache && chown node:node data .cache
USER node
# One start fills Node's cache of what it has compiled, with the client of PostgreSQL: containers start in half the time, and
# 40 MB smaller.
RUN PUENTE_DATA_DIR=/tmp/first node --import ./src/store/postgres/store.ts \
      --max-semi-space-size=32 --no-allocation-site-pretenuring --no-maglev --expose-gc --max-old-space-size=1024 src/main.ts > /tmp/said & \
    timeout 120 sh -c 'until grep -q "Puente is ready" /tmp/said; do sleep 1; done' \
    && kill $! && wait $! && rm -r /tmp/first /tmp/said
VOLUME /app/data
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=3s --start-period=10s \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PUENTE_OPS_PORT}/healthz`).then((answer) => process.exit(answer.ok ? 0 : 1), () => process.exit(1))"]
# Node itself is the first process and gets SIGTERM; npm would swallow it.
CMD ["node", "--max-semi-space-size=32", "--no-allocation-site-pretenuring", "--no-maglev", "--expose-gc", "--max-old-space-size=1024", "src/main.ts"]
