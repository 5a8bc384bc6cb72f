import type { EndpointSlice } from '#/api/generated/discovery/v1.ts'
import type { Service } from '#/api/generated/core/v1.ts'

export interface ServiceEndpoint {
  readonly address: string
  readonly port: number
  readonly pod: { readonly namespace: string; readonly name: string }
}

/** Resolves a service port given by number or name to its name. Undefined if no port has that number. */
export function servicePortName({ spec }: Service, port: string): string | undefined {
  if (!/^\d+$/.test(port)) return port
  const found = spec?.ports?.find(each => String(each.port) === String(Number(port)))
  return found && (found.name ?? '')
}

/** Ready pod endpoints with a port of that name; those of the service's first IP family come first. */
export function endpointsOf(
  slices: readonly EndpointSlice[],
  portName: string,
  families: readonly string[] = [],
): readonly ServiceEndpoint[] {
  const [first] = families
  const preferred = slices.filter(({ addressType }) => addressType === first)
  const others = slices.filter(({ addressType }) => addressType !== first && addressType !== 'FQDN')
  return [...preferred, ...others].flatMap(({ ports = [], endpoints = [] }) => {
    const port = (ports ?? []).find(each => (each.name ?? '') === portName)?.port
    if (port === undefined) return []
    return (endpoints ?? []).flatMap(({ addresses: [address], conditions, targetRef }) => {
      const isReady = conditions?.ready ?? true
      if (!isReady || address === undefined || targetRef?.kind !== 'Pod') return []
      const { namespace = '', name = '' } = targetRef
      return [{ address, port, pod: { namespace, name } }]
    })
  })
}
