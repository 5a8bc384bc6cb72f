/** The reverse proxy of k8ts alone, between ports of loopback: `proxy.ts PORT BACKEND_PORT`. */
import { HttpProxy } from '#/http-proxy/http-proxy.ts'
import type { ProxyConfiguration, ProxyRoute } from '#/http-proxy/proxy-configuration.ts'
import { nodePlatform, nodeStreamProtocols } from '#/platform/node.ts'

const [port = 0, backendPort = 0] = process.argv.slice(2).map(Number)
const host = '127.0.0.1'

const route: ProxyRoute = {
  id: 'ingress/default/web',
  match: { path: { type: 'prefix', value: '/' }, headers: [], queryParameters: [] },
  filters: [],
  backends: [{ backend: 'default/web:80', weight: 1, filters: [] }],
  timeouts: {},
}

const configuration: ProxyConfiguration = {
  listeners: [
    {
      id: 'http',
      host,
      port,
      protocol: 'http',
      certificates: [],
      virtualHosts: [{ hostname: '*', wildcard: 'one-label', routes: [route] }],
    },
  ],
  backends: new Map([
    [
      'default/web:80',
      {
        id: 'default/web:80',
        protocol: 'http1',
        endpoints: [{ address: host, port: backendPort }],
        hasClientAffinity: false,
      },
    ],
  ]),
}

const proxy = new HttpProxy({
  platform: nodePlatform({ log: { level: 'warn', format: 'text' } }),
  protocols: nodeStreamProtocols(),
})
await proxy.apply(configuration)
console.log('ready')
