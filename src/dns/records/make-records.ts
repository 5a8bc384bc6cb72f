import { parseIp } from '#/api/net/ip.ts'
import { internetClass, recordTypes, type ResourceRecord } from '../dns-message.ts'

/** An A or AAAA record, depending on the address. */
export function addressRecord(name: string, address: string, ttlSeconds: number): ResourceRecord {
  const ip = parseIp(address)
  const digits = ip?.family === 6 ? 32 : 8
  const data = Buffer.from((ip?.value ?? 0n).toString(16).padStart(digits, '0'), 'hex')
  const type = ip?.family === 6 ? recordTypes.AAAA : recordTypes.A
  return { name, type, class: internetClass, ttlSeconds, data: [data] }
}

export interface NameData {
  readonly type: typeof recordTypes.NS | typeof recordTypes.CNAME | typeof recordTypes.PTR
  readonly target: string
  readonly ttlSeconds: number
}

export function nameRecord(name: string, { type, target, ttlSeconds }: NameData): ResourceRecord {
  return { name, type, class: internetClass, ttlSeconds, data: [target] }
}

export interface ServiceData {
  readonly weight: number
  readonly port: number
  readonly target: string
  readonly ttlSeconds: number
}

export function serviceRecord(
  name: string,
  { weight, port, target, ttlSeconds }: ServiceData,
): ResourceRecord {
  const numbers = Buffer.alloc(6)
  numbers.writeUInt16BE(weight, 2)
  numbers.writeUInt16BE(port, 4)
  return { name, type: recordTypes.SRV, class: internetClass, ttlSeconds, data: [numbers, target] }
}

export function textRecord(name: string, text: string, ttlSeconds: number): ResourceRecord {
  const bytes = Buffer.from(text)
  const data = [Buffer.from([bytes.length]), bytes]
  return { name, type: recordTypes.TXT, class: internetClass, ttlSeconds, data: [Buffer.concat(data)] }
}

/** True if a query of this type is answered with the record. ANY asks for all records of the name. */
export function isAsked(type: number, record: ResourceRecord): boolean {
  return type === record.type || type === recordTypes.ANY
}

/** Zone transfers are not supported, so the serial number and timers are arbitrary valid values. */
export function soaRecord(zone: string, domain: string, ttlSeconds: number): ResourceRecord {
  const numbers = Buffer.alloc(20)
  for (const [index, value] of [1, 7_200, 1_800, 86_400, ttlSeconds].entries()) {
    numbers.writeUInt32BE(value, index * 4)
  }
  const data = [`ns.dns.${domain}`, `hostmaster.${domain}`, numbers]
  return { name: zone, type: recordTypes.SOA, class: internetClass, ttlSeconds, data }
}
