import { formatIp, parseIp } from '#/api/net/ip.ts'
import {
  defaultTtlSeconds,
  machineServers,
  type CacheSettings,
  type Fallthrough,
  type ForwardPolicy,
  type ForwardSettings,
  type HostsSettings,
  type KubernetesSettings,
  type LogClass,
  type LogSettings,
  type PodNames,
  type RewriteRule,
} from '../dns-configuration.ts'
import type { Directive } from './server-blocks.ts'
import {
  fail,
  readInteger,
  readSeconds,
  readServer,
  readWord,
  readZone,
  readZones,
  requireNoBlock,
} from './values.ts'

/** The settings of a server block while its plugins are read. */
export interface BlockDraft {
  readonly zones: readonly string[]
  readonly forwards: ForwardSettings[]
  readonly rewrites: RewriteRule[]
  kubernetes?: KubernetesSettings
  hosts?: HostsSettings
  cache?: CacheSettings
  log?: LogSettings
}

type ReadPlugin = (directive: Directive, draft: BlockDraft) => void

/** Bounds of a configuration. */
const hostsMax = 10_000
const rewritesMax = 1_000
/** As in CoreDNS. */
const forwardServersMax = 15

const ttlMax = 3_600
const daySeconds = 86_400

/**
 * Plugins whose work this server does in any case, or that have nothing to do in it. Their options are accepted
 * without effect.
 */
const ineffective = ['errors', 'health', 'ready', 'prometheus', 'loop', 'reload', 'loadbalance']

export const pluginReaders: ReadonlyMap<string, ReadPlugin> = new Map<string, ReadPlugin>([
  ['kubernetes', readKubernetes],
  ['forward', readForward],
  ['cache', readCache],
  ['hosts', readHosts],
  ['rewrite', readRewrite],
  ['log', readLog],
  ...ineffective.map(name => [name, () => undefined] as const),
])

function readKubernetes(directive: Directive, draft: BlockDraft): void {
  const zones = readZones(directive, directive.words, draft.zones)
  const isReverse = (zone: string): boolean => /(^|\.)(in-addr|ip6)\.arpa$/.test(zone)
  const domains = zones.filter(zone => !isReverse(zone))
  if (domains.length === 0 || domains.includes('')) fail(directive, 'expected the domain of the cluster')
  let pods: PodNames = 'disabled'
  let ttlSeconds = defaultTtlSeconds
  let fallthrough: Fallthrough = []
  for (const option of directive.block) {
    if (option.name === 'pods') pods = readPodNames(option)
    else if (option.name === 'ttl') ttlSeconds = readInteger(option, readWord(option), ttlMax)
    else if (option.name === 'fallthrough') fallthrough = readZones(option, option.words, [''])
    else fail(option, 'is not a supported option of kubernetes')
  }
  draft.kubernetes = { domains, reverseZones: zones.filter(isReverse), pods, ttlSeconds, fallthrough }
}

function readPodNames(option: Directive): PodNames {
  const word = readWord(option)
  if (word !== 'disabled' && word !== 'insecure' && word !== 'verified')
    fail(option, `${JSON.stringify(word)} is not disabled, insecure or verified`)
  return word
}

function readForward(directive: Directive, draft: BlockDraft): void {
  const [from, ...servers] = directive.words
  if (from === undefined || servers.length === 0) fail(directive, 'expected a zone and servers')
  if (servers.length > forwardServersMax) fail(directive, `has more than ${forwardServersMax} servers`)
  const to = servers.map(text => {
    return text === '/etc/resolv.conf' ? machineServers : readServer(directive, text)
  })
  const except: string[] = []
  let transport: ForwardSettings['transport'] = 'client'
  let policy: ForwardPolicy = 'last'
  let concurrentMax: number | undefined
  for (const option of directive.block) {
    const { name } = option
    if (name === 'except') except.push(...readZones(option, option.words, []))
    else if (name === 'force_tcp') transport = 'tcp'
    else if (name === 'prefer_udp') transport = transport === 'tcp' ? 'tcp' : 'udp'
    else if (name === 'policy') policy = readPolicy(option)
    else if (name === 'max_concurrent') concurrentMax = readInteger(option, readWord(option), 1_000_000)
    else if (!unusedForwardOptions.has(name)) fail(option, 'is not a supported option of forward')
  }
  const zone = readZone(directive, from)
  const settings = { from: zone, except, to, transport, policy }
  draft.forwards.push({ ...settings, ...(concurrentMax ? { concurrentMax } : {}) })
}

/** No connection is kept, and servers are not probed: each query tries the next server after a failure. */
const unusedForwardOptions: ReadonlySet<string> = new Set([
  'expire',
  'max_fails',
  'health_check',
  'max_idle_conns',
])

function readPolicy(option: Directive): ForwardPolicy {
  const word = readWord(option)
  if (word !== 'random' && word !== 'round_robin' && word !== 'sequential')
    fail(option, `${JSON.stringify(word)} is not random, round_robin or sequential`)
  return word
}

/** CoreDNS' default limits of TTLs without a number: an hour, and half an hour for denials. */
const successSeconds = 3_600
const denialSeconds = 1_800

function readCache(directive: Directive, draft: BlockDraft): void {
  const [first = '', ...others] = directive.words
  const limit = /^\d+$/.test(first) ? readInteger(directive, first, daySeconds) : undefined
  const zones = readZones(directive, limit === undefined ? directive.words : others, draft.zones)
  let cache: CacheSettings = {
    zones,
    successSecondsMax: limit ?? successSeconds,
    denialSecondsMax: limit ?? denialSeconds,
    uncachedSuccess: [],
    uncachedDenial: [],
    staleSecondsMax: 0,
  }
  for (const option of directive.block) cache = readCacheOption(option, cache)
  draft.cache = cache
}

function readCacheOption(option: Directive, cache: CacheSettings): CacheSettings {
  const { name, words } = option
  const [kind, ...zones] = words
  if (name === 'success' || name === 'denial') {
    readInteger(option, words[0], 1_000_000)
    const seconds = words[1] === undefined ? undefined : readInteger(option, words[1], daySeconds)
    if (seconds === undefined) return cache
    return name === 'success'
      ? { ...cache, successSecondsMax: seconds }
      : { ...cache, denialSecondsMax: seconds }
  }
  if (name === 'serve_stale')
    return { ...cache, staleSecondsMax: kind === undefined ? 3_600 : readSeconds(option, kind, daySeconds) }
  if (name === 'disable' && (kind === 'success' || kind === 'denial')) {
    const uncached = readZones(option, zones, cache.zones)
    return kind === 'success'
      ? { ...cache, uncachedSuccess: uncached }
      : { ...cache, uncachedDenial: uncached }
  }
  if (name === 'prefetch') return cache
  return fail(option, 'is not a supported option of cache')
}

function readHosts(directive: Directive, draft: BlockDraft): void {
  const file = directive.words.find(word => word.includes('/') && !/\/\d+$/.test(word))
  if (file !== undefined)
    fail(directive, `files are not supported: write the entries of ${file} in the block`)
  const addresses = new Map<string, readonly string[]>()
  const names = new Map<string, readonly string[]>()
  let ttlSeconds = ttlMax
  let fallthrough: Fallthrough = []
  let isReversed = true
  for (const option of directive.block) {
    const ip = parseIp(option.name)
    if (option.name === 'ttl') ttlSeconds = readInteger(option, readWord(option), 65_535)
    else if (option.name === 'fallthrough') fallthrough = readZones(option, option.words, [''])
    else if (option.name === 'no_reverse') isReversed = false
    else if (ip === undefined) {
      if (option.name !== 'reload') fail(option, 'is neither an IP address nor a supported option of hosts')
    } else {
      const address = formatIp(ip)
      const hosts = readZones(option, option.words, [])
      if (hosts.length === 0) fail(option, 'expected names')
      for (const host of hosts) addresses.set(host, [...(addresses.get(host) ?? []), address])
      names.set(address, [...(names.get(address) ?? []), ...hosts])
    }
    if (addresses.size > hostsMax) fail(option, `has more than ${hostsMax} names`)
  }
  const zones = readZones(directive, directive.words, draft.zones)
  draft.hosts = { zones, addresses, names: isReversed ? names : new Map(), ttlSeconds, fallthrough }
}

/** `rewrite name [exact|suffix] FROM TO [answer auto]`; the names in answers are restored in any case. */
function readRewrite(directive: Directive, draft: BlockDraft): void {
  const stop = directive.words[0] === 'stop'
  const [field, ...rest] = stop ? directive.words.slice(1) : directive.words
  if (field !== 'name') fail(directive, 'only names can be rewritten: rewrite name [exact|suffix] FROM TO')
  requireNoBlock(directive)
  const isTyped = /^(exact|suffix|prefix|substring|regex)$/.test(rest[0] ?? '') && rest.length > 2
  const match = isTyped ? rest[0] : 'exact'
  const [from, to, ...more] = isTyped ? rest.slice(1) : rest
  if (match !== 'exact' && match !== 'suffix')
    fail(directive, `${match} is not supported: use exact or suffix`)
  if (from === undefined || to === undefined) fail(directive, 'expected a name and its replacement')
  if (more.length > 0 && more.join(' ') !== 'answer auto')
    fail(directive, `unexpected ${JSON.stringify(more[0])}`)
  const nameOf = (text: string): string =>
    readZone(directive, match === 'suffix' ? text.replace(/^\./, '') : text)
  draft.rewrites.push({ match, from: nameOf(from), to: nameOf(to) })
  if (draft.rewrites.length > rewritesMax) fail(directive, `more than ${rewritesMax} rules`)
}

function readLog(directive: Directive, draft: BlockDraft): void {
  const zones = readZones(directive, directive.words, draft.zones)
  const classes = directive.block.flatMap(option => {
    if (option.name !== 'class') fail(option, 'is not a supported option of log')
    return option.words.map(word => {
      const known = logClasses.find(each => each === word)
      return known ?? fail(option, `${JSON.stringify(word)} is not ${logClasses.join(', ')}`)
    })
  })
  draft.log = { zones, classes: classes.length > 0 ? classes : ['all'] }
}

const logClasses: readonly LogClass[] = ['all', 'success', 'denial', 'error']
