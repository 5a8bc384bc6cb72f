/** Headers that the server reads, with unusual values. */
import { strange, type Draw } from './draw.ts'

const names = [
  'accept',
  'content-type',
  'content-encoding',
  'accept-encoding',
  'user-agent',
  'connection',
  'upgrade',
  'if-none-match',
  'if-match',
  'authorization',
  'sec-websocket-protocol',
  'x-stream-protocol-version',
  'impersonate-user',
  'impersonate-group',
  'impersonate-uid',
  'impersonate-extra-scopes',
  'impersonate-extra-%zz',
  'x-remote-user',
  'x-remote-group',
  'x-remote-uid',
  'x-remote-extra-a',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-real-ip',
  'forwarded',
  'host',
  'origin',
  'cookie',
  'audit-id',
  'x-request-id',
  'content-length',
  'transfer-encoding',
  'te',
  'expect',
  'range',
  'x-http-method-override',
  'x-original-url',
  'x-rewrite-url',
  'traceparent',
  'x-kubernetes-pf-flowschema-uid',
  '__proto__',
  'constructor',
]

const values = [
  'application/json',
  'application/yaml',
  'application/vnd.kubernetes.protobuf',
  'application/json;as=Table;v=v1;g=meta.k8s.io',
  'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1',
  'application/json;stream=watch',
  '*/*',
  'text/html',
  'application/*',
  'application/json;q=0.1,*/*;q=0',
  'application/json;as=__proto__;v=v1;g=meta.k8s.io',
  'gzip',
  'deflate, gzip;q=1.0, *;q=0.5',
  'websocket',
  'SPDY/3.1',
  'Upgrade',
  'keep-alive, Upgrade',
  'system:masters',
  'system:admin',
  'kubernetes-admin',
  'root',
  'system:node:n1',
  'system:serviceaccount:kube-system:default',
  'system:anonymous',
  'Bearer',
  'Bearer ',
  'Basic',
  'Basic Og==',
  'Basic cm9vdDpyb290',
  'Basic !!!',
  'Digest username="root"',
  'Negotiate YII=',
  'Bearer null',
  'bearer undefined',
  'Bearer [object Object]',
  'base64url.bearer.authorization.k8s.io.cm9vdA, v4.channel.k8s.io',
  'base64url.bearer.authorization.k8s.io.',
  '/api/v1/secrets',
  '127.0.0.1',
  '::1',
  '127.0.0.1, 10.0.0.1',
  'for=127.0.0.1;proto=https',
  'GET',
  'PUT',
  '*',
  '"etag"',
  'bytes=0-10',
]

export function drawHeaders(draw: Draw): Record<string, string> {
  const headers: [string, string][] = []
  for (let count = draw.integer(6); count > 0; count--) {
    const value = draw.oneIn(3)
      ? draw.one(strange)
      : draw.oneIn(3)
        ? draw.mutate(draw.one(values))
        : draw.one(values)
    headers.push([draw.one(names), value])
  }
  // `Object.fromEntries` makes `__proto__` an ordinary key.
  return Object.fromEntries(headers)
}
