/**
 * Benchmarks the cluster DNS: answers per second over UDP for names of services (A and SRV), for forwarded names in the
 * cache, and for names that do not exist and are asked for only once, in turn with dnsmasq (`apt-get install
 * dnsmasq-base`) with the same records. Each server has one core, the load another one. The answers per second of CPU
 * time compare the servers also when the load is the limit.
 */
import { execFile, spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import { emptyResponse, parseDnsMessage, serializeDnsMessage } from '#/dns/dns-message.ts'
import type { LoadResult } from './dns/load-client.ts'
import { dnsmasqLines, workloads, type Workload } from './dns/names.ts'

const rounds = Number(process.env['ROUNDS'] ?? 3)
const seconds = Number(process.env['SECONDS'] ?? 4)
const serverCore = process.env['SERVER_CORE'] ?? '0'
const loadCore = process.env['LOAD_CORE'] ?? '1'
const host = '127.0.0.1'
const ticksPerSecond = 100

interface RunningServer {
  readonly name: string
  readonly port: number
  readonly process: ChildProcess
}

const folder = await mkdtemp(join(tmpdir(), 'k8ts-bench-dns-'))
const upstream = await startUpstream()
const servers: RunningServer[] = []
try {
  servers.push(await startK8ts(upstream))
  const rival = await startDnsmasq(upstream)
  if (rival) servers.push(rival)
  else console.log('dnsmasq is not installed: apt-get install dnsmasq-base')
  for (const workload of workloads) await compare(workload)
} finally {
  for (const server of servers) server.process.kill('SIGKILL')
  await rm(folder, { recursive: true })
}
process.exit()

async function compare(workload: Workload): Promise<void> {
  // Fills the caches, and compiles the hot paths.
  for (const server of servers) await measure(server, workload)
  const all = new Map(servers.map(({ name }) => [name, [] as Measurement[]]))
  for (let round = 0; round < rounds; round++)
    for (const server of servers) all.get(server.name)!.push(await measure(server, workload))
  const medians = Array.from(all, ([name, measured]) => {
    const perSecond = median(measured.map(each => each.perSecond))
    const perCpuSecond = median(measured.map(each => each.perCpuSecond))
    const sum = (of: 'lost' | 'wrong'): number => measured.reduce((total, each) => total + each[of], 0)
    console.log(
      `${workload.padEnd(9)} ${name.padEnd(7)} ${perSecond.toFixed(0).padStart(7)} answers/s, ` +
        `${perCpuSecond.toFixed(0).padStart(7)} per CPU second, ${sum('lost')} lost, ${sum('wrong')} wrong`,
    )
    return { perSecond, perCpuSecond }
  })
  const [own, other] = medians
  if (!own || !other) return
  const percent = (of: 'perSecond' | 'perCpuSecond'): string =>
    `${((own[of] / other[of]) * 100).toFixed(0)} %`
  console.log(
    `${workload.padEnd(9)} ratio   ${percent('perSecond')}, per CPU second ${percent('perCpuSecond')}`,
  )
}

interface Measurement {
  readonly perSecond: number
  readonly perCpuSecond: number
  readonly lost: number
  readonly wrong: number
}

async function measure({ port, process: server }: RunningServer, workload: Workload): Promise<Measurement> {
  const client = join(import.meta.dirname, 'dns/load-client.ts')
  const before = cpuSecondsOf(server.pid!)
  const command = ['-c', loadCore, process.execPath, client, String(port), workload, String(seconds)]
  const { stdout } = await promisify(execFile)('taskset', command)
  const { answers, lost, wrong, seconds: took } = JSON.parse(stdout) as LoadResult
  const cpuSeconds = cpuSecondsOf(server.pid!) - before
  return { perSecond: answers / took, perCpuSecond: answers / cpuSeconds, lost, wrong }
}

function cpuSecondsOf(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ')
  return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond
}

async function startK8ts(upstreamPort: number): Promise<RunningServer> {
  const script = join(import.meta.dirname, 'dns/server.ts')
  const child = spawn('taskset', ['-c', serverCore, process.execPath, script, String(upstreamPort)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [line] = (await once(createInterface(child.stdout), 'line')) as [string]
  return { name: 'k8ts', port: Number(line), process: child }
}

async function startDnsmasq(upstreamPort: number): Promise<RunningServer | undefined> {
  if (spawnSync('dnsmasq', ['--version']).status !== 0) return undefined
  const port = await freePort()
  const path = join(folder, 'dnsmasq.conf')
  const lines = [
    `port=${port}`,
    `listen-address=${host}`,
    'bind-interfaces',
    'no-resolv',
    'no-hosts',
    'cache-size=10000',
    'dns-forward-max=1000',
    'local-ttl=5',
    `server=${host}#${upstreamPort}`,
    'user=root',
    'keep-in-foreground',
    'pid-file=',
    ...dnsmasqLines(),
  ]
  await writeFile(path, `${lines.join('\n')}\n`)
  const child = spawn('taskset', ['-c', serverCore, 'dnsmasq', `--conf-file=${path}`], {
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  return { name: 'dnsmasq', port, process: child }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, host)
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

/** Answers each A query with one address, which may be cached for an hour. */
async function startUpstream(): Promise<number> {
  const socket = createSocket('udp4')
  socket.on('message', (bytes, from) => {
    const query = parseDnsMessage(bytes)
    const [question] = query?.questions ?? []
    if (!query || !question) return
    const answers = [{ ...question, ttlSeconds: 3_600, data: [Buffer.from([192, 0, 2, 1])] }]
    const answer = { ...emptyResponse, id: query.id, questions: query.questions, answers }
    socket.send(serializeDnsMessage(answer, 512), from.port, from.address)
  })
  socket.bind(0, host)
  await once(socket, 'listening')
  return socket.address().port
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!
}
