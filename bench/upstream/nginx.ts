/** The routes as an nginx configuration; this upstream is cheap enough never to be the bottleneck. */
import { BODY, LARGE_PATH, type Route, routes } from './answers.ts';

/** @param directory of its files; `large` in it is the large answer. */
export function nginxUpstream(directory: string, port: number, born: string, born_later: string): string {
  return `daemon off;
master_process off;
pid ${directory}/nginx.pid;
error_log ${directory}/nginx-error.log crit;
events { worker_connections 8192; }
http {
  client_body_temp_path ${directory}/nginx-body;
  proxy_temp_path ${directory}/nginx-proxy;
  fastcgi_temp_path ${directory}/nginx-fastcgi;
  uwsgi_temp_path ${directory}/nginx-uwsgi;
  scgi_temp_path ${directory}/nginx-scgi;
  default_type application/json;
  tcp_nodelay on;
  sendfile on;
  keepalive_timeout 600s;
  keepalive_requests 1000000000;
  client_max_body_size 0;
  client_body_buffer_size 12m;
  client_body_in_single_buffer on;
  log_not_found off;
  map $request_body $body_kind { default ""; '~${BODY.unit}' $kind; }
  map $request_body $body_number { default ""; '~${BODY.unit}' $number; }
  map $request_body $body_type { default ""; '~${BODY.type}' $type; }
  map $request_body $body_reference { default ""; '~${BODY.reference}' $reference; }
  map $request_body $body_amount { default ""; '~${BODY.amount}' $amount; }
  log_format numbers '$body_number$path_number $http_x_idempotency_key $request_uri';
  server {
    listen 127.0.0.1:${port};
    access_log off;
    set $born "${born}";
    set $born_later "${born_later}";
    set $path_number "";
    location = /bench/drop { internal; return 204; }
    location = ${LARGE_PATH} { alias ${directory}/large; }
${routes.map((route) => location(route, directory)).join('\n')}
    location / { access_log ${directory}/unknown.log numbers buffer=64k flush=100ms; return 404 '{"errors":[{"code":"order_not_found","message":"Nothing is kept here"}]}'; }
  }
}
`;
}

/**
 * `return` alone would answer before the body has arrived. `mirror` makes nginx read it (and drops the copy); the
 * missing file then leads to the answer, which can use the body.
 */
function location({ name, path, status = 200, text, reads_body, counted }: Route, directory: string): string {
  const log = counted ? `access_log ${directory}/${name}.log numbers buffer=64k flush=100ms; ` : '';
  const answer = `return ${status} '${text}';`;
  const where = /[(\\[]/.test(path) ? `~ "^${path}$"` : `= ${path}`;
  if (!reads_body) return `    location ${where} { ${log}${answer} }`;
  return `    location ${where} { mirror /bench/drop; root ${directory}/none; error_page 403 404 405 =${status} @${name}; }
    location @${name} { ${log}${answer} }`;
}
