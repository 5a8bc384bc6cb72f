import type { Service } from '#/api/generated/core/v1.ts'

/** The addresses of the load balancer, or else the path of the API server's proxy. */
export function serviceAddress({ metadata, spec, status }: Service, server: string): string {
  const { ports = [] } = spec ?? {}
  const [ingress] = status?.loadBalancer?.ingress ?? []
  if (ingress !== undefined) {
    return ports.map(({ port }) => `http://${ingress.ip || ingress.hostname || ''}:${port} `).join('')
  }
  const [first] = ports
  const scheme = first?.name === 'https' || first?.port === 443 ? 'https' : ''
  const name =
    first === undefined
      ? metadata.name
      : proxyName({ scheme, name: metadata.name ?? '', port: first.name ?? '' })
  return `${server}/api/v1/namespaces/${metadata.namespace}/services/${name}/proxy`
}

/** `https:dash:web`; the scheme and the port are optional. */
function proxyName({
  scheme,
  name,
  port,
}: {
  readonly scheme: string
  readonly name: string
  readonly port: string
}): string {
  if (scheme !== '') return `${scheme}:${name}:${port}`
  return port === '' ? name : `${name}:${port}`
}
