/** Pods in a compact notation, and the tables of a plan with an interpreter of their rules, for tests. */
import assert from 'node:assert/strict'
import { parseIp, type IpFamily } from '#/api/net/ip.ts'
import { objectId, parseObjectId } from '#/nftables/objects.ts'
import { Ruleset } from '#/nftables/ruleset.ts'
import type { PolicyPlan } from './plan.ts'
import type { NamedPort, PodFacts } from './pod-facts.ts'
import { directions, type Direction, type Protocol } from './plan/read-policy.ts'

/** `x/web app=web,tier=front 10.244.0.5 fd00::5 http:tcp:80 remote`: all but the name in any order. */
export function podOf(text: string): PodFacts {
  const [key = '', ...words] = text.split(' ')
  const labels = words.filter(word => word.includes('='))
  const ports = words.filter(word => /^[a-z]+:(?:tcp|udp|sctp):\d+$/.test(word))
  return {
    key,
    namespace: key.split('/')[0] ?? '',
    labels: Object.fromEntries(
      labels.flatMap(word => word.split(',').map(each => each.split('=') as [string, string])),
    ),
    addresses: words.filter(word => parseIp(word) !== undefined),
    isLocal: !words.includes('remote'),
    namedPorts: ports.map((word): NamedPort => {
      const [name = '', protocol, port] = word.split(':')
      return { name, protocol: protocol as Protocol, port: Number(port) }
    }),
  }
}

export interface Connection {
  readonly from: string
  readonly to: string
  readonly protocol: Protocol | 'icmp'
  readonly port: number
}

/** The tables that a plan leads to. */
export class PlannedTables {
  readonly #rulesets: Readonly<Record<IpFamily, Ruleset>> = { 4: new Ruleset(), 6: new Ruleset() }

  /** Applies the pending changes of the plan. Returns the owners that have changed. */
  apply(plan: PolicyPlan): readonly string[] {
    plan.plan()
    const changes = plan.takeChanges()
    for (const [owner, fragmentOf] of changes)
      for (const family of [4, 6] as const) this.#rulesets[family].replace(owner, fragmentOf(family))
    return [...changes.keys()].toSorted()
  }

  /** Sorted, one line for each rule, set and element. */
  lines(family: IpFamily = 4): readonly string[] {
    return [...this.#rulesets[family].objects()]
      .flatMap(([id, content]) => {
        const { type, name, key } = parseObjectId(id)
        if (type === 'chain') return content.split('\n').map(rule => `${name}: ${rule}`)
        return [`${name} ${type === 'element' ? `{ ${key}${content && ` : ${content}`} }` : content}`]
      })
      .toSorted()
  }

  /** True if both base chains accept a packet of the connection. */
  accepts(connection: Connection): boolean {
    const family: IpFamily = connection.from.includes(':') ? 6 : 4
    const packet: Packet = { objects: this.#rulesets[family].objects(), ...connection }
    return directions.every(direction => acceptsDirection(packet, direction))
  }
}

interface Packet extends Connection {
  readonly objects: ReadonlyMap<string, string>
}

function acceptsDirection(packet: Packet, direction: Direction): boolean {
  const address = direction === 'egress' ? packet.from : packet.to
  const verdict = packet.objects.get(objectId('element', `${direction}-pods`, address))
  return (verdict === undefined ? 'accept' : verdictOf(packet, verdict)) !== 'drop'
}

/** Undefined when the chain returns. */
function verdictOf(packet: Packet, verdict: string): 'accept' | 'drop' | undefined {
  if (verdict === 'accept' || verdict === 'drop') return verdict
  const chain = /^(?:goto|jump) (\S+)$/.exec(verdict)?.[1]
  assert.ok(chain, `unknown verdict ${verdict}`)
  const rules = packet.objects.get(objectId('chain', chain))
  assert.ok(rules !== undefined, `there is no chain ${chain}`)
  for (const rule of rules.split('\n').filter(Boolean)) {
    const result = ruleOf(packet, rule)
    if (result !== undefined) return result
  }
  return undefined
}

function ruleOf(packet: Packet, rule: string): 'accept' | 'drop' | undefined {
  const { from, to, port, protocol } = packet
  const fields: Readonly<Record<string, string>> = {
    'ct original saddr . ct reply saddr': `${from} . ${to}`,
    'ct reply saddr . ct reply proto-src': `${to} . ${port}`,
    'ct original saddr': from,
    'ct reply saddr': to,
    'ct original protocol': protocol,
    'ct reply proto-src': String(port),
  }
  let rest = rule.replaceAll(/ ip6? saddr/g, ' saddr')
  for (;;) {
    const field = Object.keys(fields).find(each => rest.startsWith(`${each} `))
    if (field === undefined) return verdictOf(packet, rest)
    const [, match = '', after = ''] = /^(\{[^}]*\}|\S+) (.*)$/.exec(rest.slice(field.length + 1)) ?? []
    if (!isMatch(packet, fields[field]!, match)) return undefined
    rest = after
  }
}

function isMatch({ objects }: Packet, value: string, match: string): boolean {
  if (match.startsWith('@')) {
    const set = match.slice(1)
    assert.ok(set === 'self' || objects.has(objectId('set', set)), `there is no set ${set}`)
    return objects.has(objectId('element', set, value))
  }
  if (/[a-z]/.test(match) && !match.includes(':')) return match === value
  return match
    .replaceAll(/[{ }]/g, '')
    .split(',')
    .some(range => {
      const [first = 0n, last = first] = range.split('-').map(numberOf)
      return numberOf(value) >= first && numberOf(value) <= last
    })
}

function numberOf(text: string): bigint {
  return parseIp(text)?.value ?? BigInt(text)
}
