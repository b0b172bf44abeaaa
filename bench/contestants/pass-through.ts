/** nginx and HAProxy as what they are at their best: one worker that passes bytes on over kept-alive connections. */

/** @param directory where its files lie. */
export function nginxPassThrough(directory: string, port: number, upstream: URL): string {
  return `daemon off;
master_process off;
pid ${directory}/nginx.pid;
error_log ${directory}/error.log crit;
events { worker_connections 8192; }
http {
  client_body_temp_path ${directory}/body;
  proxy_temp_path ${directory}/proxy;
  fastcgi_temp_path ${directory}/fastcgi;
  uwsgi_temp_path ${directory}/uwsgi;
  scgi_temp_path ${directory}/scgi;
  access_log off;
  tcp_nodelay on;
  keepalive_timeout 600s;
  keepalive_requests 1000000000;
  client_max_body_size 0;
  upstream there { server ${upstream.host}; keepalive 256; keepalive_requests 1000000000; }
  server {
    listen 127.0.0.1:${port};
    location / {
      proxy_pass http://there;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_request_buffering off;
    }
  }
}
`;
}

export function haproxyPassThrough(_directory: string, port: number, upstream: URL): string {
  return `global
  nbthread 1
  maxconn 8192
defaults
  mode http
  http-reuse always
  timeout connect 5s
  timeout client 600s
  timeout server 600s
  timeout http-keep-alive 600s
listen bench
  bind 127.0.0.1:${port}
  server there ${upstream.host}
`;
}
