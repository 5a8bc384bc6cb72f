/** Services and endpoint slices in a compact notation. */
import type { Service, ServiceSpec } from '#/api/generated/core/v1.ts'
import type { Endpoint, EndpointSlice } from '#/api/generated/discovery/v1.ts'

/**
 * `10.244.0.5@a` is a ready endpoint on node a. Suffixes: `terminating` still serves, `ending` does not,
 * `unready`; `node=a,b` and `zone=x,y` are hints.
 */
function endpoint(text: string): Endpoint {
  const [at = '', ...words] = text.split(' ')
  const [address = '', nodeName] = at.split('@')
  const hint = (name: string): { readonly name: string }[] | undefined => {
    const found = words.find(word => word.startsWith(`${name}=`))
    const names = found?.slice(name.length + 1).split(',')
    return names?.map(each => ({ name: each }))
  }
  const [forNodes, forZones] = [hint('node'), hint('zone')]
  const isGoing = words.includes('terminating') || words.includes('ending')
  return {
    addresses: [address],
    ...(nodeName !== undefined && { nodeName }),
    ...(isGoing && {
      conditions: { ready: false, serving: words.includes('terminating'), terminating: true },
    }),
    ...(words.includes('unready') && { conditions: { ready: false, serving: false, terminating: false } }),
    hints: { ...(forNodes && { forNodes }), ...(forZones && { forZones }) },
  }
}

export function slice(endpoints: readonly string[], more: Partial<EndpointSlice> = {}): EndpointSlice {
  const isIpv6 = endpoints.some(each => each.includes(':'))
  return {
    metadata: {},
    addressType: isIpv6 ? 'IPv6' : 'IPv4',
    endpoints: endpoints.map(endpoint),
    ports: [{ name: 'http', port: 8080, protocol: 'TCP' }],
    ...more,
  }
}

export function service(spec: ServiceSpec, balancers: readonly string[] = []): Service {
  const ingress = balancers.map(text => {
    const [ip = '', ipMode = 'VIP'] = text.split(' ')
    return { ip, ipMode }
  })
  return {
    metadata: { namespace: 'shop', name: 'web' },
    spec: {
      type: 'ClusterIP',
      clusterIP: '10.96.0.5',
      clusterIPs: ['10.96.0.5'],
      ports: [{ name: 'http', port: 80, protocol: 'TCP' }],
      ...spec,
    },
    status: { loadBalancer: { ingress } },
  }
}
