/** The names that are asked for, and the objects and files with them. */
import type { Service } from '#/api/generated/core/v1.ts'

export const serviceCount = 1_000

export const workloads = ['A', 'SRV', 'forwarded', 'missing'] as const

/** Its digits are different in each query, so that no answer can be reused. */
export const missingLabel = '000000000'

export type Workload = (typeof workloads)[number]

export function questionOf(
  workload: Workload,
  index: number,
): { readonly name: string; readonly type: number } {
  const service = `${serviceName(index)}.default.svc.cluster.local`
  if (workload === 'A') return { name: service, type: 1 }
  if (workload === 'SRV') return { name: `_http._tcp.${service}`, type: 33 }
  if (workload === 'missing') return { name: `${missingLabel}.default.svc.cluster.local`, type: 1 }
  return { name: `www-${index}.example.test`, type: 1 }
}

export function benchService(index: number): Service {
  return {
    metadata: { namespace: 'default', name: serviceName(index) },
    spec: {
      clusterIP: addressOf(index),
      clusterIPs: [addressOf(index)],
      ports: [{ name: 'http', port: 80 }],
    },
  }
}

/** Options of dnsmasq for the same records. */
export function dnsmasqLines(): readonly string[] {
  const records = Array.from({ length: serviceCount }, (_, index) => {
    const { name } = questionOf('A', index)
    return [`host-record=${name},${addressOf(index)}`, `srv-host=_http._tcp.${name},${name},80,0,100`]
  })
  return ['local=/cluster.local/', ...records.flat()]
}

function serviceName(index: number): string {
  return `service-${index}`
}

function addressOf(index: number): string {
  return `10.96.${1 + (index >> 8)}.${index & 255}`
}
