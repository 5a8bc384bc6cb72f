/**
 * Benchmarks kubectl beside upstream's, from the search path or `KUBECTL=/opt/kubectl npm run bench -- kubectl`: the
 * same commands, alternately within one run, against an API server of this tree. Both discovery caches are warm.
 * Times are medians of wall time, from start to exit.
 */
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { ChildCluster } from '../tests/clients/cluster.ts'
import { kubectlVersion, ownKubectl, upstreamKubectl } from '../tests/clients/kubectl/session.ts'

const rounds = Number(process.env['ROUNDS'] ?? 15)
const podCount = Number(process.env['PODS'] ?? 5_000)
const manifestCount = Number(process.env['MANIFESTS'] ?? 200)
const version = await kubectlVersion()
const folder = mkdtempSync(join(tmpdir(), 'k8ts-bench-kubectl-'))

interface Measurement {
  readonly title: string
  readonly words: readonly string[]
  readonly rounds: number
  /** Runs before each measured command. */
  readonly before?: readonly string[]
}

const measurements: readonly Measurement[] = [
  { title: 'version --client', words: ['version', '--client'], rounds },
  { title: 'get pods, 20 pods', words: ['get', 'pods', '-n', 'small'], rounds },
  { title: 'get pod -o yaml', words: ['get', 'pod', 'pod-0', '-n', 'small', '-o', 'yaml'], rounds },
  { title: 'describe pod', words: ['describe', 'pod', 'pod-0', '-n', 'small'], rounds },
  { title: `get pods -A, ${podCount} pods`, words: ['get', 'pods', '-A'], rounds: small(rounds) },
  {
    title: `get pods -A -o json, ${podCount} pods`,
    words: ['get', 'pods', '-A', '-o', 'json'],
    rounds: small(rounds),
  },
  {
    title: `apply -f, ${manifestCount} new manifests`,
    words: ['apply', '-n', 'applied', '-f', join(folder, 'manifests')],
    before: ['delete', 'configmaps', '--all', '-n', 'applied'],
    rounds: small(rounds),
  },
  {
    title: `apply -f, ${manifestCount} unchanged manifests`,
    words: ['apply', '-n', 'applied', '-f', join(folder, 'manifests')],
    rounds: small(rounds),
  },
]

try {
  if (version === undefined) {
    console.log('kubectl is missing, so there is nothing to compare with: set KUBECTL to the path of one')
  } else await main(version)
} finally {
  rmSync(folder, { recursive: true, force: true })
}

async function main(version: number): Promise<void> {
  const port = 0
  await using cluster = await ChildCluster.start({ port, store: 'memory' })
  prepare(cluster)
  console.log(`kubectl of k8ts beside kubectl 1.${version}, ${availableParallelism()} cores, medians`)
  for (const measurement of measurements) {
    const times = { own: [] as number[], upstream: [] as number[] }
    for (let round = -1; round < measurement.rounds; round++) {
      const own = measure(cluster, ownKubectl, measurement)
      const upstream = measure(cluster, upstreamKubectl, measurement)
      // The first round warms the caches.
      if (round < 0) continue
      times.own.push(own)
      times.upstream.push(upstream)
    }
    const [own, upstream] = [median(times.own), median(times.upstream)]
    const ratio = (own / upstream).toFixed(2)
    console.log(`  ${measurement.title.padEnd(40)} ${format(own)} / ${format(upstream)} = ${ratio}`)
  }
}

function small(count: number): number {
  return Math.max(3, Math.round(count / 3))
}

function measure(cluster: ChildCluster, kubectl: string, { words, before }: Measurement): number {
  if (before) run(cluster, { kubectl, words: before })
  const startMs = performance.now()
  run(cluster, { kubectl, words })
  return performance.now() - startMs
}

interface Run {
  readonly kubectl: string
  readonly words: readonly string[]
  readonly input?: string
}

function run(cluster: ChildCluster, { kubectl, words, input = '' }: Run): void {
  const env = { ...process.env, HOME: folder, KUBECONFIG: cluster.kubeconfig, KUBECTL_KUBERC: 'false' }
  const { status, stderr } = spawnSync(kubectl, words, { env, input, maxBuffer: 1024 ** 3 })
  if (status !== 0) throw new Error(`${kubectl} ${words.join(' ')} failed: ${String(stderr)}`)
}

function prepare(cluster: ChildCluster): void {
  mkdirSync(join(folder, 'manifests'))
  for (let index = 0; index < manifestCount; index++) {
    const data = Array.from({ length: 10 }, (_, line) => `  key-${line}: "value ${line} of ${index}"\n`).join(
      '',
    )
    const metadata = `metadata:\n  name: settings-${index}\n  labels:\n    app: bench\n    part: "${index}"\n`
    const text = `apiVersion: v1\nkind: ConfigMap\n${metadata}data:\n${data}`
    writeFileSync(join(folder, 'manifests', `${String(index).padStart(4, '0')}.yaml`), text)
  }
  const namespaces = ['small', 'large', 'applied'].map(name => ({
    kind: 'Namespace',
    apiVersion: 'v1',
    metadata: { name },
  }))
  create(cluster, namespaces)
  create(cluster, [
    ...Array.from({ length: 20 }, (_, index) => podOf('small', index)),
    ...Array.from({ length: podCount - 20 }, (_, index) => podOf('large', index)),
  ])
}

function create(cluster: ChildCluster, items: readonly object[]): void {
  const list = { kind: 'List', apiVersion: 'v1', items }
  run(cluster, { kubectl: upstreamKubectl, words: ['create', '-f', '-'], input: JSON.stringify(list) })
}

function podOf(namespace: string, index: number): object {
  const container = {
    name: 'main',
    image: 'registry.example/shop/web:1.4',
    env: Array.from({ length: 5 }, (_, variable) => ({
      name: `V${variable}`,
      value: `value of ${variable}`,
    })),
    resources: { requests: { cpu: '100m', memory: '64Mi' } },
  }
  return {
    kind: 'Pod',
    apiVersion: 'v1',
    metadata: { name: `pod-${index}`, namespace, labels: { app: 'web', index: String(index) } },
    spec: { containers: [container] },
  }
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!
}

function format(ms: number): string {
  return `${ms.toFixed(0)} ms`.padStart(8)
}
