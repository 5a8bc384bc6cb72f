/**
 * Benchmarks nftables rules for many services in a separate network namespace: the time to write all of them,
 * and then to write one change, relative to the time `nft` takes for an empty input.
 */
import type { Service } from '#/api/generated/core/v1.ts'
import type { EndpointSlice } from '#/api/generated/discovery/v1.ts'
import { nodeLinux, nodePlatform } from '#/platform/node.ts'
import { NftablesRules } from '#/proxy/nftables.ts'
import { planService } from '#/proxy/plan.ts'

const serviceCount = Number(process.env['SERVICES'] ?? 1_000)
const endpointsOfEach = Number(process.env['ENDPOINTS'] ?? 5)
const rounds = 20

const namespace = `k8ts-bench-${process.pid}`
const linux = await nodeLinux()
const { log } = nodePlatform({ log: { level: 'error', format: 'text' } })
const { signal } = new AbortController()
await linux.run(['ip', 'netns', 'add', namespace])
try {
  const inside: typeof linux.run = (command, options) => {
    return linux.run(['ip', 'netns', 'exec', namespace, ...command], options)
  }
  const rules = new NftablesRules({
    linux: { run: inside },
    log,
    network: {
      table: 'k8ts0-proxy',
      families: [4],
      podCidrs: ['10.244.0.0/16'],
      serviceCidrs: ['10.96.0.0/16'],
      nodeAddresses: ['10.214.0.1'],
    },
  })
  let startedMs = performance.now()
  for (let number = 0; number < serviceCount; number++) setService(rules, number, endpointsOfEach)
  console.log(`${serviceCount} services of ${endpointsOfEach} endpoints planned in ${since(startedMs)} ms`)
  startedMs = performance.now()
  await rules.apply(0, signal)
  console.log(`all written in ${since(startedMs)} ms`)
  startedMs = performance.now()
  for (let round = 0; round < rounds; round++) await inside(['nft', '-f', '-'], { stdin: '' })
  const nothingMs = (performance.now() - startedMs) / rounds
  startedMs = performance.now()
  for (let round = 0; round < rounds; round++) {
    setService(rules, round, endpointsOfEach + 1)
    await rules.apply(round, signal)
  }
  const changeMs = (performance.now() - startedMs) / rounds
  console.log(
    `one change ${changeMs.toFixed(1)} ms, ${(changeMs / nothingMs).toFixed(1)} times as long as no change`,
  )
} finally {
  await linux.run(['ip', 'netns', 'delete', namespace])
}

function setService(rules: NftablesRules, number: number, endpoints: number): void {
  const name = `web-${number}`
  const clusterIP = `10.96.${number >> 8}.${number & 255}`
  const service: Service = {
    metadata: { namespace: 'default', name },
    spec: { clusterIP, clusterIPs: [clusterIP], ports: [{ name: 'http', port: 80 }] },
  }
  const slice: EndpointSlice = {
    metadata: { namespace: 'default', name: `${name}-1` },
    addressType: 'IPv4',
    endpoints: Array.from({ length: endpoints }, (_, index) => {
      const address = (number * endpointsOfEach + index) % 65_000
      return { addresses: [`10.244.${address >> 8}.${address & 255}`], nodeName: index === 0 ? 'n1' : 'n2' }
    }),
    ports: [{ name: 'http', port: 8080, protocol: 'TCP' }],
  }
  const { ports } = planService({ service, slices: [slice], node: { name: 'n1', zone: '' }, families: [4] })
  rules.set(`default/${name}`, ports)
}

function since(startedMs: number): string {
  return (performance.now() - startedMs).toFixed(0)
}
