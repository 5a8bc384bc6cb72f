/** Decides which source answers a question: the plugins of a server block in order. Pure. */
import {
  isInZone,
  zoneOf,
  type ForwardSettings,
  type HostsSettings,
  type RewriteRule,
  type ServerBlock,
} from '../dns-configuration.ts'
import { isDnsName, recordTypes, responseCodes, type Question, type ResourceRecord } from '../dns-message.ts'
import { resolveName, type DnsState } from '../records.ts'
import { addressRecord, isAsked, nameRecord, soaRecord } from '../records/make-records.ts'
import { parseReverseName } from '../records/reverse-names.ts'

export interface BlockState {
  readonly block: ServerBlock
  /** The state of the cluster, with the settings of the block, by domain. */
  readonly states: ReadonlyMap<string, DnsState>
  /** False until the informers have synced: until then it is not known which names the cluster has. */
  readonly isKnown: boolean
}

export type AnsweringPlugin = 'hosts' | 'kubernetes'

export type Outcome =
  | {
      readonly is: 'answer'
      readonly plugin: AnsweringPlugin
      readonly responseCode: number
      readonly answers: readonly ResourceRecord[]
      readonly authorities: readonly ResourceRecord[]
      readonly additionals: readonly ResourceRecord[]
    }
  /** A CNAME, whose target is asked for next. */
  | { readonly is: 'alias'; readonly answer: ResourceRecord; readonly target: string }
  | { readonly is: 'forward'; readonly settings: ForwardSettings }
  /** No source can answer. */
  | { readonly is: 'failure' }

export function resolveQuestion(question: Question, state: BlockState): Outcome {
  const { hosts, kubernetes, forwards } = state.block
  const name = question.name.toLowerCase()
  const known = hosts && resolveHost(question, name, hosts)
  if (known) return known
  const own = kubernetes && resolveClusterName(question, name, state)
  if (own) return own
  const settings = forwards.find(({ from, except }) => {
    return isInZone(name, from) && !except.some(zone => isInZone(name, zone))
  })
  return settings ? { is: 'forward', settings } : failure
}

/** The first rule that matches is applied. */
export function rewriteName(name: string, rules: readonly RewriteRule[]): string {
  const lower = name.toLowerCase()
  for (const { match, from, to } of rules) {
    if (match === 'exact' ? lower !== from : !isInZone(lower, from)) continue
    const rewritten = match === 'exact' ? to : `${name.slice(0, name.length - from.length)}${to}`
    return isDnsName(rewritten) ? rewritten : name
  }
  return name
}

const failure: Outcome = { is: 'failure' }

type Records = Pick<Extract<Outcome, { readonly is: 'answer' }>, 'answers' | 'authorities' | 'additionals'>

function answerOf(plugin: AnsweringPlugin, records: Partial<Records>, responseCode = 0): Outcome {
  return { is: 'answer', plugin, responseCode, answers: [], authorities: [], additionals: [], ...records }
}

/** Undefined if the next plugin is asked. A file of hosts has no SOA record, so that a negative answer is a failure. */
function resolveHost(question: Question, name: string, hosts: HostsSettings): Outcome | undefined {
  if (zoneOf(name, hosts.zones) === undefined) return undefined
  const { ttlSeconds } = hosts
  const reverse = parseReverseName(name)
  if (reverse !== undefined) {
    const names = hosts.names.get(reverse)
    if (names === undefined || question.type !== recordTypes.PTR) return undefined
    const target = (to: string): ResourceRecord =>
      nameRecord(question.name, { type: recordTypes.PTR, target: to, ttlSeconds })
    return answerOf('hosts', { answers: names.map(target) })
  }
  const addresses = hosts.addresses.get(name)
  if (addresses === undefined) return zoneOf(name, hosts.fallthrough) === undefined ? failure : undefined
  const records = addresses.map(address => addressRecord(question.name, address, ttlSeconds))
  return answerOf('hosts', { answers: records.filter(record => isAsked(question.type, record)) })
}

/** Undefined if the next plugin is asked. */
function resolveClusterName(question: Question, name: string, server: BlockState): Outcome | undefined {
  const { domains, reverseZones, fallthrough, ttlSeconds } = server.block.kubernetes!
  const zone = zoneOf(name, domains) ?? zoneOf(name, reverseZones)
  if (zone === undefined) return undefined
  if (!server.isKnown) return failure
  const state = server.states.get(zone) ?? server.states.get(domains[0]!)!
  const resolution = resolveName(question, state)
  const soa = soaRecord(zone, state.domain, ttlSeconds)
  if (resolution.is === 'unknown') return failure
  if (resolution.is === 'alias') return resolution
  if (resolution.is === 'found') {
    const { answers, additionals = [] } = resolution
    return answerOf('kubernetes', { answers, additionals, authorities: answers.length === 0 ? [soa] : [] })
  }
  if (zoneOf(name, fallthrough) !== undefined) return undefined
  return answerOf('kubernetes', { authorities: [soa] }, responseCodes.nxDomain)
}
