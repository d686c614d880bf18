GET /page.js HTTP/1.1
Host: HOST
X-Collegial-Token: TOKEN
X-File-Name: a.toml
Connection: close
Content-Length: 42

{"model":"resnext29-1x8d","design":"2x4d"}