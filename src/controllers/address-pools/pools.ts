/**
 * The pools of load balancer addresses: the default pool of the flag `--load-balancer-addresses`, and those of the
 * ConfigMap `kube-system/load-balancer-pools`, whose keys are names of pools and whose values are YAML:
 *
 * ```yaml
 * addresses: [192.0.2.0/28, 192.0.2.32-192.0.2.40, 2001:db8::/120]
 * autoAssign: false            # only for services that name the pool or one of its addresses
 * avoidBuggyIPs: true          # without addresses that end with .0 or .255
 * namespaces: [shop]           # only for services of these namespaces
 * serviceSelector:             # only for services with these labels
 *   matchLabels: { team: web }
 * ```
 */
import { DecodeError } from '#/api/decoding/decode-error.ts'
import type { ConfigMap, Service } from '#/api/generated/core/v1.ts'
import type { LabelSelector } from '#/api/generated/meta/v1.ts'
import { compareIps, formatIp, validateNonSpecialIp, type Ip, type IpFamily } from '#/api/net/ip.ts'
import { compileLabelSelector, validateLabelSelector, type Selector } from '#/api/selectors/selector.ts'
import { isObject, type JsonObject } from '#/api/text/json-object.ts'
import type { JsonValue } from '#/api/text/json-value.ts'
import { parseYaml } from '#/api/text/yaml.ts'
import { messageOf } from '#/base/message-of.ts'
import { parseRange, type AddressRange } from './ranges.ts'

export interface AddressPool {
  readonly name: string
  readonly ranges: readonly AddressRange[]
  /** True if services that name neither a pool nor an address get addresses of the pool. */
  readonly autoAssign: boolean
  readonly avoidBuggyIps: boolean
  /** Undefined without a restriction. */
  readonly namespaces: readonly string[] | undefined
  readonly serviceSelector: Selector | undefined
}

/** Name of the pool of the flag. */
const defaultPool = 'default'

export const poolsConfigMap = { namespace: 'kube-system', name: 'load-balancer-pools' } as const

/** Of all pools together. */
const rangesMax = 1_000

/** Throws Error, which names the pool and the field, when any pool is invalid: half a configuration is not used. */
export function readPools(
  configMap: ConfigMap | undefined,
  defaultRanges: readonly AddressRange[],
): readonly AddressPool[] {
  const pools = Object.entries(configMap?.data ?? {}).map(([name, text]) => readPool(name, text))
  const restricted = pools.filter(({ namespaces, serviceSelector }) => namespaces ?? serviceSelector)
  const all = [
    // A pool that is restricted to the service precedes those for all services.
    ...restricted,
    ...pools.filter(pool => !restricted.includes(pool)),
    ...(defaultRanges.length > 0 ? [{ ...unrestricted, name: defaultPool, ranges: defaultRanges }] : []),
  ]
  const names = all.map(({ name }) => name)
  if (new Set(names).size < names.length)
    throw new Error(`pool ${defaultPool}: the name is that of the pool of --load-balancer-addresses`)
  refuseOverlaps(all)
  return all
}

export function isAdmitted(
  { namespaces, serviceSelector }: AddressPool,
  { metadata: { namespace = '', labels = {} } }: Service,
): boolean {
  return (namespaces?.includes(namespace) ?? true) && (serviceSelector?.matches(labels) ?? true)
}

/** Some clients and routers do not send to addresses that look like a network or broadcast address. */
export function isBuggyIp({ family, value }: Ip): boolean {
  const last = value & 0xffn
  return family === 4 && (last === 0n || last === 0xffn)
}

export function familiesOf({ ranges }: AddressPool): ReadonlySet<IpFamily> {
  return new Set(ranges.map(({ first }) => first.family))
}

const unrestricted = {
  autoAssign: true,
  avoidBuggyIps: false,
  namespaces: undefined,
  serviceSelector: undefined,
}

const fields: ReadonlySet<string> = new Set([
  'addresses',
  'autoAssign',
  'avoidBuggyIPs',
  'namespaces',
  'serviceSelector',
])

function readPool(name: string, text: string): AddressPool {
  try {
    const value = parseYaml(text)
    if (!isObject(value)) throw new Error('must be a YAML mapping with the field addresses')
    const unknown = Object.keys(value).find(field => !fields.has(field))
    if (unknown !== undefined) throw new Error(`unknown field ${unknown}: use ${[...fields].join(', ')}`)
    const ranges = readTexts(value, 'addresses')?.map(readUnicastRange) ?? []
    if (ranges.length === 0) throw new Error('addresses: must have at least one range')
    return {
      name,
      ranges,
      autoAssign: readBoolean(value, 'autoAssign') ?? true,
      avoidBuggyIps: readBoolean(value, 'avoidBuggyIPs') ?? false,
      namespaces: readTexts(value, 'namespaces'),
      serviceSelector: readSelector(value['serviceSelector']),
    }
  } catch (error) {
    const reason = error instanceof DecodeError ? `invalid YAML: ${error.message}` : messageOf(error)
    throw new Error(`pool ${name}: ${reason}`, { cause: error })
  }
}

function readUnicastRange(text: string): AddressRange {
  const range = parseRange(text)
  const special = [range.first, range.last].find(ip => {
    const isMulticast = ip.family === 4 ? ip.value >= 0xe0000000n : ip.value >> 120n === 0xffn
    return isMulticast || validateNonSpecialIp('addresses', formatIp(ip)).length > 0
  })
  if (special === undefined) return range
  throw new Error(`addresses: ${formatIp(special)} is not a unicast address of other machines`)
}

function readTexts(value: JsonObject, field: string): readonly string[] | undefined {
  const given: JsonValue | undefined = value[field]
  if (given === undefined) return undefined
  if (Array.isArray(given) && given.every(each => typeof each === 'string')) return given
  throw new Error(`${field}: must be a list of strings`)
}

function readBoolean(value: JsonObject, field: string): boolean | undefined {
  const given = value[field]
  if (given === undefined || typeof given === 'boolean') return given
  throw new Error(`${field}: must be true or false`)
}

function readSelector(value: JsonValue | undefined): Selector | undefined {
  if (value === undefined) return undefined
  const fieldsOfSelector = ['matchLabels', 'matchExpressions']
  if (!isObject(value) || Object.keys(value).some(key => !fieldsOfSelector.includes(key)))
    throw new Error(`serviceSelector: must have ${fieldsOfSelector.join(' or ')}`)
  const { matchLabels = {}, matchExpressions = [] } = value
  const isText = (each: JsonValue | undefined): boolean => typeof each === 'string'
  const areExpressions =
    Array.isArray(matchExpressions) &&
    matchExpressions.every(each => {
      if (!isObject(each) || !isText(each['key']) || !isText(each['operator'])) return false
      const { values = [] } = each
      return Array.isArray(values) && values.every(isText)
    })
  if (!isObject(matchLabels) || !Object.values(matchLabels).every(isText) || !areExpressions)
    throw new Error('serviceSelector: must be a label selector')
  // Checked above: decoded YAML gets its type.
  const selector = value as LabelSelector
  const [error] = validateLabelSelector('serviceSelector', selector)
  if (error !== undefined) throw new Error(`${error.field}: ${error.detail}`)
  return compileLabelSelector(selector)
}

function refuseOverlaps(pools: readonly AddressPool[]): void {
  const all = pools.flatMap(({ name, ranges }) => ranges.map(range => ({ name, range })))
  if (all.length > rangesMax)
    throw new Error(`there are ${all.length} ranges: at most ${rangesMax} are possible`)
  const sorted = all.toSorted((a, b) => {
    return a.range.first.family - b.range.first.family || compareIps(a.range.first, b.range.first)
  })
  for (const [index, { name, range }] of sorted.entries()) {
    const next = sorted[index + 1]
    if (next?.range.first.family !== range.first.family || compareIps(next.range.first, range.last) > 0)
      continue
    throw new Error(`pool ${next.name}: ${formatIp(next.range.first)} is in a range of pool ${name} too`)
  }
}
