/**
 * Benchmarks the rules of many services in a network namespace, in the modes nftables and iptables: the time to write
 * all of them, to write a change of one endpoint, and what they add to the time of opening a connection.
 *
 *     SERVICES=5000 ENDPOINTS=10 npm run bench -- service-proxy
 */
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { Service } from '#/api/generated/core/v1.ts'
import type { EndpointSlice } from '#/api/generated/discovery/v1.ts'
import { nodeLinux, nodePlatform } from '#/platform/node.ts'
import { planService } from '#/proxy/plan.ts'
import { createProxier } from '#/proxy/proxy-modes.ts'
import type { Proxier } from '#/proxy/proxier.ts'
import { addresses, Namespaces } from './service-proxy/namespaces.ts'

const serviceCount = Number(process.env['SERVICES'] ?? 5_000)
const endpointsOfEach = Number(process.env['ENDPOINTS'] ?? 10)
const rounds = 10

const linux = await nodeLinux()
const platform = nodePlatform({ log: { level: 'error', format: 'text' } })
const { signal } = new AbortController()
const connect = fileURLToPath(new URL('service-proxy/connect.ts', import.meta.url))

interface Figures {
  readonly planMs: number
  readonly firstSyncMs: number
  readonly changeMs: number
  readonly serviceMs: number
}

/** Medians of the time to open a connection, in microseconds. */
interface Connecting {
  readonly directUs: number
  readonly throughUs: number
}

console.log(`${serviceCount} services of ${endpointsOfEach} endpoints`)
const nftables = await measure('nftables')
const iptables = await measure('iptables')
for (const name of ['firstSyncMs', 'changeMs', 'serviceMs'] as const)
  console.log(
    `${name}: iptables takes ${(iptables[name] / nftables[name]).toFixed(2)} times as long as nftables`,
  )

async function measure(mode: 'nftables' | 'iptables'): Promise<Figures> {
  await using namespaces = await Namespaces.create(linux, `k8ts-bench-${process.pid}-${mode}`)
  const network = {
    table: 'k8ts0-proxy',
    families: [4] as const,
    podCidrs: ['10.244.0.0/16'],
    serviceCidrs: ['10.96.0.0/16'],
    nodeAddresses: ['10.214.0.1'],
  }
  const { log } = platform
  const onFallback = (reason: string): void => {
    throw new Error(reason)
  }
  await using proxier = createProxier(mode, { linux: namespaces.node, platform, log, network, onFallback })
  const [program = '', ...parameters] = namespaces.inside('server')
  const serving = spawn(program, [...parameters, process.execPath, connect, 'serve'], { stdio: 'ignore' })
  using _serving = { [Symbol.dispose]: () => void serving.kill('SIGKILL') }
  const { directUs: bareUs } = await connectTimes(namespaces, `${addresses.server}:8080`)
  const planMs = await timed(async () => {
    for (let number = 0; number < serviceCount; number++) setService(proxier, number, endpointsOfEach)
  })
  const firstSyncMs = await timed(async () => void (await proxier.apply(0, signal)))
  const changeMs = await timedRounds(async round => {
    setService(proxier, round, endpointsOfEach + 1)
    await proxier.apply(0, signal)
  })
  const serviceMs = await timedRounds(async round => {
    setService(proxier, serviceCount + round, endpointsOfEach)
    await proxier.apply(0, signal)
  })
  // The last of all services, to which packets are compared last.
  setService(proxier, serviceCount - 1, 1, addresses.server)
  await proxier.apply(0, signal)
  const { directUs, throughUs } = await connectTimes(namespaces)
  console.log(
    `${mode}: planned in ${planMs.toFixed(0)} ms, first sync ${firstSyncMs.toFixed(0)} ms, ` +
      `one endpoint's change ${changeMs.toFixed(0)} ms, a new service ${serviceMs.toFixed(0)} ms; connecting ` +
      `${bareUs} us without rules, ${directUs} us to a pod (${(directUs / bareUs).toFixed(2)}), ` +
      `${throughUs} us to a cluster IP (${(throughUs / bareUs).toFixed(2)})`,
  )
  return { planMs, firstSyncMs, changeMs, serviceMs }
}

/** Without a service the cluster IP is that of the server itself. */
async function connectTimes(namespaces: Namespaces, clusterIp?: string): Promise<Connecting> {
  const direct = `${addresses.server}:8080`
  const targets = [direct, clusterIp ?? `${clusterIpOf(serviceCount - 1)}:80`]
  const command = [...namespaces.inside('client'), process.execPath, connect, ...targets]
  const [directUs = 0, throughUs = 0] = JSON.parse(await linux.run(command)) as readonly number[]
  return { directUs, throughUs }
}

function clusterIpOf(number: number): string {
  return `10.96.${number >> 8}.${number & 255}`
}

function setService(proxier: Proxier, number: number, endpoints: number, at?: string): void {
  const name = `web-${number}`
  const clusterIP = clusterIpOf(number)
  const service: Service = {
    metadata: { namespace: 'default', name },
    spec: { clusterIP, clusterIPs: [clusterIP], ports: [{ name: 'http', port: 80 }] },
  }
  const slice: EndpointSlice = {
    metadata: { namespace: 'default', name: `${name}-1` },
    addressType: 'IPv4',
    endpoints: Array.from({ length: endpoints }, (_, index) => {
      const address = (number * endpointsOfEach + index) % 65_000
      const usual = `10.244.${address >> 8}.${address & 255}`
      return { addresses: [at ?? usual], nodeName: index === 0 ? 'n1' : 'n2' }
    }),
    ports: [{ name: 'http', port: 8080, protocol: 'TCP' }],
  }
  const { ports } = planService({ service, slices: [slice], node: { name: 'n1', zone: '' }, families: [4] })
  proxier.set(`default/${name}`, ports)
}

async function timed(work: () => Promise<void>): Promise<number> {
  const startedMs = performance.now()
  await work()
  return performance.now() - startedMs
}

/** The mean. */
async function timedRounds(work: (round: number) => Promise<void>): Promise<number> {
  const allMs = await timed(async () => {
    for (let round = 0; round < rounds; round++) await work(round)
  })
  return allMs / rounds
}
