/**
 * Benchmarks the API server against a bare Node HTTP/2 server that returns the same bytes, in one run on one
 * machine: reads, lists in every encoding, writes and watches; and the server's resource usage at startup,
 * with many objects, and when idle.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fetchOnce, runLoad, type Load, type Target } from './api/load.ts'
import { startApiServer, startBareServer, usageOf, type Running } from './api/processes.ts'
import { runWatchers } from './api/watchers.ts'

const pods = '/api/v1/namespaces/default/pods'
const table = 'application/json;as=Table;g=meta.k8s.io;v=v1'
const rounds = 3
const idleMs = 60_000

const folder = mkdtempSync(join(tmpdir(), 'k8ts-bench-'))
try {
  await using server = await startApiServer(folder)
  const idle = usageOf(server.pid)
  console.log(`start to ready ${server.startMs.toFixed(0)} ms, memory idle ${idle.memoryMb.toFixed(0)} MB`)
  await createPods(server.target, 0, 5_000)
  await compareReads(server)
  await measureForms(server.target)
  await measureWrites(server.target)
  await runWatchers(server.target, {
    watchers: 200,
    events: 500,
    path: '/api/v1/namespaces/default/configmaps',
  })
  await measureSize(server)
} finally {
  rmSync(folder, { recursive: true, force: true })
}

async function createPods(target: Target, from: number, count: number): Promise<void> {
  const { perSecond } = await runLoad(target, {
    method: 'POST',
    path: pods,
    headers: { 'content-type': 'application/json' },
    body: number => podJson(from + number),
    requests: count,
    concurrency: 64,
    connections: 4,
  })
  console.log(`create ${count} pods, durable: ${Math.round(perSecond)}/s`)
}

/** The two servers are measured alternately, so that both see the same machine load. */
async function compareReads({ target }: Running): Promise<void> {
  const bodies = join(folder, 'bodies')
  mkdirSync(bodies)
  const paths = { get: `${pods}/pod-1`, list: pods }
  for (const [name, path] of Object.entries(paths))
    writeFileSync(join(bodies, name), await fetchOnce(target, path))
  await using bare = await startBareServer(
    folder,
    Object.keys(paths).map(name => join(bodies, name)),
  )
  for (const [name, key, load, aim] of [
    ['GET a pod', 'get', { requests: 20_000, concurrency: 64 }, 50],
    ['LIST 5,000 pods', 'list', { requests: 60, concurrency: 4 }, 80],
  ] as const) {
    const rates = { server: 0, bare: 0 }
    for (let round = 0; round < rounds; round++) {
      rates.bare += await rate(bare.target, { ...load, path: `/${key}` })
      rates.server += await rate(target, { ...load, path: paths[key] })
    }
    const share = (rates.server / rates.bare) * 100
    console.log(
      `${name}: ${format(rates.server / rounds)}/s, bare ${format(rates.bare / rounds)}/s,` +
        ` ${share.toFixed(0)} % of it (aim: ${aim} %)`,
    )
  }
}

async function measureForms(target: Target): Promise<void> {
  const list = { path: pods, requests: 40, concurrency: 4 }
  const gzip = await rate(target, { ...list, headers: { 'accept-encoding': 'gzip' } })
  const asTable = await rate(target, { ...list, headers: { accept: table } })
  const protobuf = await rate(target, { ...list, headers: { accept: 'application/vnd.kubernetes.protobuf' } })
  const selected = await rate(target, { ...list, path: `${pods}?labelSelector=shard%3D7` })
  const none = await rate(target, { ...list, path: `${pods}?labelSelector=shard%3Dnone`, requests: 2_000 })
  const paged = await rate(target, { ...list, path: `${pods}?limit=500`, requests: 200 })
  console.log(
    `LIST gzip ${format(gzip)}/s, Table ${format(asTable)}/s, protobuf ${format(protobuf)}/s,` +
      ` label-selected ${format(selected)}/s, a label that no pod has ${format(none)}/s,` +
      ` pages of 500 ${format(paged)}/s`,
  )
}

async function measureWrites(target: Target): Promise<void> {
  const patches = await rate(target, {
    method: 'PATCH',
    path: `${pods}/pod-2`,
    headers: { 'content-type': 'application/merge-patch+json' },
    body: number => JSON.stringify({ metadata: { annotations: { number: String(number) } } }),
    requests: 2_000,
    concurrency: 8,
  })
  console.log(`PATCH of one pod by eight clients: ${format(patches)}/s`)
}

async function measureSize({ target, pid }: Running): Promise<void> {
  await createPods(target, 5_000, 45_000)
  const full = usageOf(pid)
  await sleep(idleMs)
  const later = usageOf(pid)
  const share = ((later.cpuSeconds - full.cpuSeconds) / (idleMs / 1_000)) * 100
  console.log(
    `with 50,000 pods: memory ${full.memoryMb.toFixed(0)} MB, idle for a minute: ${share.toFixed(2)} % of a core`,
  )
}

async function rate(target: Target, load: Omit<Load, 'connections'>): Promise<number> {
  const { perSecond } = await runLoad(target, { ...load, connections: Math.min(4, load.concurrency) })
  return perSecond
}

function format(value: number): string {
  return value >= 100 ? String(Math.round(value)) : value.toFixed(1)
}

function podJson(number: number): string {
  return JSON.stringify({
    kind: 'Pod',
    apiVersion: 'v1',
    metadata: { name: `pod-${number}`, labels: { app: 'web', shard: String(number % 100) } },
    spec: {
      containers: [
        {
          name: 'web',
          image: 'registry.example.com/web:1.2.3',
          ports: [{ containerPort: 8080, name: 'http' }],
          env: [{ name: 'MODE', value: 'production' }],
          resources: { requests: { cpu: '100m', memory: '128Mi' }, limits: { memory: '256Mi' } },
          readinessProbe: { httpGet: { path: '/ready', port: 'http' } },
        },
      ],
    },
  })
}
