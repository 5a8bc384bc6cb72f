/**
 * Benchmarks network policies in separate network namespaces: planning and writing of all rules and of one change,
 * relative to an empty call of `nft`, and the cost of a packet between two pods with all policies, relative to the same
 * packet with one policy and with none, and to the same rules as a list of iptables rules.
 */
import { spawn } from 'node:child_process'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import type { NetworkPolicySpec } from '#/api/generated/networking/v1.ts'
import { NftablesTables, removeNftablesTables } from '#/nftables/nftables-tables.ts'
import { PolicyPlan } from '#/network-policy/plan.ts'
import { baseRules } from '#/network-policy/base-rules.ts'
import type { PodFacts } from '#/network-policy/pod-facts.ts'
import type { Linux } from '#/platform/linux.ts'
import { nodeLinux, nodePlatform } from '#/platform/node.ts'

const policyCount = Number(process.env['POLICIES'] ?? 1_000)
const podCount = Number(process.env['PODS'] ?? 5_000)
/** Pods of the node; more than a node usually has, so that each policy isolates one of them. */
const localCount = Number(process.env['LOCAL_PODS'] ?? policyCount)
const changes = 20
const exchanges = 4_000
const rounds = 12
const table = 'k8ts0-policy'
const port = 5_300

/** The last policy isolates the server and allows the client. */
const server = { number: policyCount - 1, address: addressOf(policyCount - 1) }
const client = { number: policyCount, address: addressOf(policyCount) }

const { signal } = new AbortController()

if (process.argv[2] === 'serve') serve()
else if (process.argv[2] === 'ping') console.log(await ping())
else await run()

async function run(): Promise<void> {
  const linux = await nodeLinux()
  const names = ['node', 'server', 'client'].map(name => `k8ts-bench-${process.pid}-${name}`)
  const [node = '', ...pods] = names
  for (const name of names) await linux.run(['ip', 'netns', 'add', name])
  try {
    for (const [index, pod] of pods.entries())
      await connectPod(linux, node, { pod, address: index === 0 ? server.address : client.address })
    await linux.run(['ip', 'netns', 'exec', node, 'sysctl', '-qw', 'net.ipv4.ip_forward=1'])
    const inside: Linux['run'] = (command, options) => {
      return linux.run(['ip', 'netns', 'exec', node, ...command], options)
    }
    await benchmarkChanges(inside)
    await benchmarkPackets(inside, pods)
  } finally {
    for (const name of names) await linux.run(['ip', 'netns', 'delete', name])
  }
}

async function connectPod(
  linux: Linux,
  node: string,
  { pod, address }: { readonly pod: string; readonly address: string },
): Promise<void> {
  const link = pod.endsWith('server') ? 'veth-server' : 'veth-client'
  for (const command of [
    `-n ${node} link add ${link} type veth peer name eth0 netns ${pod}`,
    `-n ${node} addr add 169.254.1.1/32 dev ${link}`,
    `-n ${node} link set ${link} up`,
    `-n ${node} route add ${address}/32 dev ${link}`,
    `-n ${pod} addr add ${address}/32 dev eth0`,
    `-n ${pod} link set eth0 up`,
    `-n ${pod} route add 169.254.1.1 dev eth0`,
    `-n ${pod} route add default via 169.254.1.1`,
  ])
    await linux.run(['ip', ...command.split(' ')])
}

async function benchmarkChanges(inside: Linux['run']): Promise<void> {
  const { plan, tables } = cluster(inside, policyCount, podCount)
  const size = `${policyCount} policies, ${podCount} pods, ${localCount} of them on the node`
  const planMs = await timed(() => plan.plan())
  const writeMs = await timed(() => write(plan, tables))
  console.log(`${size}: planned in ${planMs.toFixed(0)} ms, written in ${writeMs.toFixed(0)} ms`)
  const nothingMs = await mean(() => inside(['nft', '-f', '-'], { stdin: '' }))
  const changed = async (what: string, change: (round: number) => void): Promise<void> => {
    let plannedMs = 0
    const allMs = await mean(async round => {
      change(round)
      plannedMs += await timed(() => plan.plan())
      await write(plan, tables)
    })
    const ownMs = plannedMs / changes
    console.log(
      `${what}: planned in ${ownMs.toFixed(2)} ms (all: ${(planMs / ownMs).toFixed(0)} times as long), ` +
        `with writing ${allMs.toFixed(1)} ms, ${(allMs / nothingMs).toFixed(1)} times an empty nft call`,
    )
  }
  await changed('a pod of another node gets another address', round => {
    const number = podCount - 1 - round
    plan.setPod(`default/pod-${number}`, { ...podOf(number), addresses: [`10.250.0.${round + 1}`] })
  })
  await changed('a pod of this node gets other labels', round => {
    const pod = podOf(round)
    plan.setPod(pod.key, { ...pod, labels: { app: `app-${round + 1}` } })
  })
  await changed('a policy gets another rule', round => setPolicy(plan, round, 8_080))
  await removeNftablesTables({ run: inside }, table)
}

async function benchmarkPackets(inside: Linux['run'], pods: readonly string[]): Promise<void> {
  const [serverPod = '', clientPod = ''] = pods
  const program = [process.execPath, fileURLToPath(import.meta.url)]
  const serving = spawn('ip', ['netns', 'exec', serverPod, ...program, 'serve'])
  await once(serving.stdout, 'data')
  const rulesOf = (first: number) => async (): Promise<void> => {
    const { plan, tables } = cluster(inside, policyCount, first === 0 ? podCount : client.number + 1, first)
    plan.plan()
    await write(plan, tables)
  }
  const kinds: Readonly<Record<string, () => Promise<unknown>>> = {
    'no rules': async () => undefined,
    '1 policy': rulesOf(server.number),
    [`${policyCount} policies`]: rulesOf(0),
    [`iptables, ${policyCount} policies`]: () => inside(['iptables-restore'], { stdin: iptablesRules() }),
  }
  const results = new Map<string, number[]>(Object.keys(kinds).map(kind => [kind, []]))
  try {
    for (let round = 0; round < rounds; round++) {
      for (const [kind, prepare] of Object.entries(kinds)) {
        await prepare()
        const pinging = spawn('ip', ['netns', 'exec', clientPod, ...program, 'ping'])
        results.get(kind)?.push(Number(await text(pinging.stdout)))
        await inside(['nft', 'flush', 'ruleset'])
      }
    }
  } finally {
    serving.kill()
  }
  // The fastest round is the one with the least influence of other programs.
  const one = Math.min(...(results.get('1 policy') ?? []))
  for (const [kind, all] of results) {
    const value = Math.min(...all)
    console.log(
      `round trip with ${kind}: ${value.toFixed(1)} us, ${(value / one).toFixed(2)} of that with 1 policy`,
    )
  }
}

interface Cluster {
  readonly plan: PolicyPlan
  readonly tables: NftablesTables
}

/** With the policies from a number on. */
function cluster(run: Linux['run'], policies: number, pods: number, first = 0): Cluster {
  const { log } = nodePlatform({ log: { level: 'error', format: 'text' } })
  const plan = new PolicyPlan()
  for (let number = first; number < pods; number++) plan.setPod(`default/pod-${number}`, podOf(number))
  for (let number = first; number < policies; number++) setPolicy(plan, number, port)
  const tables = new NftablesTables({
    linux: { run },
    log,
    table,
    families: [4],
    witness: 'filter-ingress',
    baseRules: family => baseRules(family, table),
  })
  return { plan, tables }
}

/** Pods of the same application have the same remainder. */
function podOf(number: number): PodFacts {
  return {
    key: `default/pod-${number}`,
    namespace: 'default',
    labels: { app: `app-${number % policyCount}` },
    addresses: [addressOf(number)],
    isLocal: number < localCount,
    namedPorts: [],
  }
}

/** Allows the next application, and a block. */
function setPolicy(plan: PolicyPlan, number: number, allowed: number): void {
  const select = (of: number): NonNullable<NetworkPolicySpec['podSelector']> => {
    return { matchLabels: { app: `app-${of % policyCount}` } }
  }
  const from = [
    { podSelector: select(number + 1) },
    { ipBlock: { cidr: '192.0.2.0/24', except: ['192.0.2.8/29'] } },
  ]
  const ports = [{ port: allowed, protocol: 'UDP' }]
  const spec = { podSelector: select(number), ingress: [{ from, ports }] }
  plan.setPolicy(`default/policy-${number}`, {
    metadata: { namespace: 'default', name: `policy-${number}` },
    spec,
  })
}

async function write(plan: PolicyPlan, tables: NftablesTables): Promise<void> {
  for (const [owner, fragmentOf] of plan.takeChanges()) tables.set(owner, fragmentOf)
  await tables.apply(0, signal)
}

/** The same policies as a list: each packet passes the rules of all policies before its own. */
function iptablesRules(): string {
  const rules = Array.from({ length: policyCount }, (_, number) => {
    const pod = addressOf(number)
    const peers = Array.from({ length: Math.ceil(podCount / policyCount) }, (_each, index) => {
      return addressOf(((number + 1) % policyCount) + index * policyCount)
    })
    const isPeer = number === server.number ? [client.address, ...peers] : peers
    return [
      ...isPeer.map(peer => `-A FORWARD -s ${peer} -d ${pod} -p udp --dport ${port} -j ACCEPT`),
      `-A FORWARD -d ${pod} -j DROP`,
    ]
  })
  const replies = `-A FORWARD -m conntrack --ctstate ESTABLISHED -m conntrack --ctdir REPLY -j ACCEPT`
  return ['*filter', replies, ...rules.flat(), 'COMMIT', ''].join('\n')
}

function addressOf(number: number): string {
  return `10.${100 + (number >> 16)}.${(number >> 8) & 255}.${number & 255}`
}

function serve(): void {
  const socket = createSocket('udp4')
  socket.on('message', (bytes, { port: to, address }) => socket.send(bytes, to, address))
  socket.bind(port, () => console.log('listening'))
}

/** Microseconds of a round trip. */
async function ping(): Promise<number> {
  const socket = createSocket('udp4')
  const bytes = Buffer.from('x')
  const exchange = async (count: number): Promise<number> => {
    const beganMs = performance.now()
    for (let index = 0; index < count; index++) {
      socket.send(bytes, port, server.address)
      await once(socket, 'message', { signal: AbortSignal.timeout(10_000) })
    }
    return ((performance.now() - beganMs) / count) * 1_000
  }
  await exchange(1_000)
  const result = await exchange(exchanges)
  socket.close()
  return result
}

async function timed(work: () => unknown): Promise<number> {
  const beganMs = performance.now()
  await work()
  return performance.now() - beganMs
}

/** Milliseconds of a run. */
async function mean(work: (round: number) => unknown): Promise<number> {
  let totalMs = 0
  for (let round = 0; round < changes; round++) totalMs += await timed(() => work(round))
  return totalMs / changes
}
