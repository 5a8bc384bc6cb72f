import { parseInt64 } from '#/api/text/int64.ts'
import { checkPortName, checkPortNumber } from '#/api/names.ts'
import type { JsonObject } from '#/api/text/json-object.ts'
import { quote } from '#/api/text/quote.ts'
import { stringSliceFlag } from '../flag-types.ts'
import type { CreateOptions, ObjectCreator } from './object-creator.ts'

export const portsFlag = stringSliceFlag('Ports of the service: PORT:TARGETPORT.')

export interface ServiceContent {
  readonly type: 'ClusterIP' | 'NodePort' | 'LoadBalancer' | 'ExternalName'
  /** As given by flags: `80:8080`. */
  readonly ports?: readonly string[] | undefined
  readonly clusterIP?: string | undefined
  readonly nodePort?: number | undefined
  readonly externalName?: string | undefined
}

/** A service for the pods whose label `app` is its name. Throws Error for invalid ports. */
export function planService({ name }: Pick<ObjectCreator, 'name'>, content: ServiceContent): CreateOptions {
  const { type, ports = [], clusterIP, nodePort, externalName } = content
  if (clusterIP !== 'None' && ports.length === 0 && type !== 'ExternalName') {
    throw new Error('at least one tcp port specifier must be provided')
  }
  const parsed = ports.map(text => ({ ...parsePort(text), ...(nodePort && { nodePort }) }))
  return {
    resource: { group: '', version: 'v1', kind: 'Service', plural: 'services', scope: 'Namespaced' },
    failure: `failed to create ${type} service:`,
    content: {
      metadata: { labels: { app: name } },
      spec: {
        ...(parsed.length > 0 && { ports: parsed }),
        selector: { app: name },
        ...(clusterIP && { clusterIP }),
        type,
        ...(externalName && { externalName }),
      },
      status: { loadBalancer: {} },
    },
  }
}

/** `80`, `80:8080` or `80:http`. */
function parsePort(text: string): JsonObject {
  const [first = '', target] = text.split(':')
  const port = parsePortNumber(first)
  const common = { name: text.replaceAll(':', '-'), protocol: 'TCP', port }
  if (target === undefined) return { ...common, targetPort: port }
  const number = parseInt64(target)
  const targetPort = typeof number === 'number' ? number : target
  const messages = typeof targetPort === 'number' ? checkPortNumber(targetPort) : checkPortName(targetPort)
  if (messages.length > 0) throw new Error(messages.join(','))
  return { ...common, targetPort }
}

function parsePortNumber(text: string): number {
  const failure = (reason: string): Error => new Error(`strconv.ParseUint: parsing ${quote(text)}: ${reason}`)
  if (!/^\d+$/.test(text)) throw failure('invalid syntax')
  const port = Number(text)
  if (port > 65_535) throw failure('value out of range')
  return port
}
