/** Paths that belong to no resource. */
import type { PlannedRequest } from '../request.ts'

const aggregated = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList'

const paths: readonly string[] = [
  '/',
  '/api',
  '/api/',
  '/api/v1',
  '/api/v2',
  '/apis',
  '/apis/',
  '/apis/apps',
  '/apis/apps/v1',
  '/apis/apps/v2',
  '/apis/unknown.example.com',
  '/apis/unknown.example.com/v1',
  '/apis/unknown.example.com/v1/things',
  '/apis/apps/v1/unknown',
  '/apis/apps/v1/namespaces/default/unknown/x',
  '/api/v1/unknown',
  '/version',
  '/version/',
  '/healthz',
  '/healthz?verbose',
  '/healthz/ping',
  '/healthz/unknown',
  '/livez?verbose',
  '/livez/ping',
  '/livez?exclude=ping&verbose',
  '/readyz?verbose',
  '/readyz?exclude=unknown',
  '/readyz/etcd',
  '/openapi/v2',
  '/openapi/v3',
  '/openapi/v3/api/v1',
  '/openapi/v3/apis/apps/v1',
  '/openapi/v3/apis/unknown/v1',
  '/openapi',
  '/.well-known/openid-configuration',
  '/openid/v1/jwks',
  '/logs',
  '/metrics/unknown',
  '/debug/unknown',
  '/unknown',
  '/index.html',
  '/favicon.ico',
  '//api//v1',
  '/api/v1/../v1',
  '/%2e%2e/api',
  '/api/v1/namespaces/default/pods/a%2fb',
  '/api/v1/namespaces//pods',
  '/api/v1/nodes/x/y/z',
]

export function* plainPaths(groupVersions: readonly string[]): Generator<PlannedRequest> {
  for (const path of [...paths, ...groupVersions.filter(path => !paths.includes(path))]) yield get(path)
  for (const path of ['/api', '/apis', '/api/v1', '/openapi/v3']) {
    for (const accept of [
      aggregated,
      aggregated.replace('v2', 'v2beta1'),
      'application/yaml',
      'application/vnd.kubernetes.protobuf',
      'application/xml',
    ]) {
      yield get(path, { accept })
    }
  }
  for (const accept of ['application/com.github.proto-openapi.spec.v2@v1.0+protobuf', 'application/xml']) {
    yield get('/openapi/v2', { accept })
  }
  for (const path of ['/api', '/apis', '/version', '/healthz', '/unknown', '/']) {
    for (const method of ['POST', 'PUT', 'DELETE', 'HEAD', 'OPTIONS']) {
      yield { id: `- ${method} ${path}`, resource: '-', method, path }
    }
    const headers = {
      'impersonate-user': 'compare-servers:other',
      'impersonate-group': 'compare-servers:others',
    }
    yield { id: `- GET ${path} as another user`, resource: '-', method: 'GET', path, headers }
  }
}

function get(path: string, headers?: Readonly<Record<string, string>>): PlannedRequest {
  const about = headers ? ` as ${Object.values(headers).join()}` : ''
  return { id: `- GET ${path}${about}`, resource: '-', method: 'GET', path, ...(headers && { headers }) }
}
