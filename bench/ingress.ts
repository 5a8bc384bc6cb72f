/**
 * Benchmarks the reverse proxy of Ingresses beside nginx (Debian's package nginx-light): the same backend,
 * load and headers, alternately within one run. The proxy under test has one core for itself; load and
 * backend share another one. Where these are the bottleneck, the requests for each second of CPU time of the
 * proxy tell more than the rate.
 */
import { execFileSync, spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const connections = Number(process.env['CONNECTIONS'] ?? 64)
const seconds = Number(process.env['SECONDS'] ?? 5)
const rounds = Number(process.env['ROUNDS'] ?? 3)
const responseBytes = Number(process.env['BYTES'] ?? 128)

const ports = { backend: 18_090, nginx: 18_091, k8ts: 18_092 }
const [proxyCore, loadCore] = ['0', '1']
const clockTicksPerSecond = 100

/** Longest text in a configuration of nginx; longer ones are files. */
const literalBytesMax = 4_000

const folder = mkdtempSync(join(tmpdir(), 'k8ts-bench-ingress-'))
const children: ChildProcess[] = []

interface Result {
  readonly perSecond: number
  readonly p99Ms: number
  readonly failures: number
  readonly perCpuSecond: number
}

/** As the proxy of k8ts: kept connections to the backend, and the same headers. */
const nginxProxy = [
  'proxy_pass http://backend; proxy_http_version 1.1; proxy_set_header Connection "";',
  'proxy_set_header Host $host; proxy_set_header X-Forwarded-For $remote_addr;',
  'proxy_set_header X-Forwarded-Proto $scheme; proxy_set_header X-Forwarded-Host $host;',
  'proxy_set_header X-Forwarded-Port $server_port; proxy_set_header X-Real-IP $remote_addr;',
  'proxy_set_header X-Request-ID $request_id;',
].join('\n')

try {
  if (hasNginx()) await main()
  else console.log('nginx is missing, so there is nothing to compare with: apt-get install nginx-light')
} finally {
  const running = children.filter(child => child.exitCode === null && child.signalCode === null)
  await Promise.all(running.map(child => (child.kill(), once(child, 'exit'))))
  rmSync(folder, { recursive: true, force: true })
}

async function main(): Promise<void> {
  const body = 'x'.repeat(responseBytes)
  writeFileSync(join(folder, 'body'), body)
  const isShort = responseBytes <= literalBytesMax
  startNginx('backend', loadCore, isShort ? `return 200 "${body}";` : `root ${folder}; try_files /body =404;`)
  startNginx('nginx', proxyCore, nginxProxy)
  start(proxyCore, [process.execPath, script('proxy.ts'), String(ports.k8ts), String(ports.backend)])
  for (const port of Object.values(ports)) await waitForPort(port)
  console.log(
    `${connections} kept connections, responses of ${responseBytes} bytes, ${rounds} rounds of ${seconds} s`,
  )
  const ratios: { readonly rate: number; readonly cpu: number }[] = []
  for (let round = 0; round < rounds; round++) {
    const nginx = await measure('nginx', ports.nginx)
    const k8ts = await measure('k8ts', ports.k8ts)
    ratios.push({ rate: k8ts.perSecond / nginx.perSecond, cpu: k8ts.perCpuSecond / nginx.perCpuSecond })
  }
  const rate = median(ratios.map(each => each.rate)).toFixed(2)
  const cpu = median(ratios.map(each => each.cpu)).toFixed(2)
  console.log(
    `median ratio to nginx: ${rate} of its requests a second, ${cpu} of its requests a second of CPU time`,
  )
}

function startNginx(name: 'backend' | 'nginx', core: string, location: string): void {
  const path = join(folder, `${name}.conf`)
  const kept = 'keepalive 128; keepalive_requests 1000000000;'
  const upstream = `upstream backend { server 127.0.0.1:${ports.backend}; ${kept} }`
  const server = `server { listen 127.0.0.1:${ports[name]}; location / { ${location} } }`
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    kind => `${kind}_temp_path ${folder}/${kind};`,
  )
  writeFileSync(
    path,
    `daemon off; master_process off; pid ${folder}/${name}.pid; error_log ${folder}/${name}.log;
     events { worker_connections 4096; }
     http { access_log off; keepalive_requests 1000000000; ${temporary.join(' ')} ${upstream} ${server} }`,
  )
  start(core, ['nginx', '-c', path])
}

function start(core: string, command: readonly string[]): ChildProcess {
  const child = spawn('taskset', ['-c', core, ...command], { stdio: ['ignore', 'ignore', 'inherit'] })
  children.push(child)
  return child
}

async function measure(name: 'nginx' | 'k8ts', port: number): Promise<Result> {
  // nginx, then k8ts, in the order of their start; the first child is the backend.
  const { pid = 0 } = children[name === 'nginx' ? 1 : 2]!
  const before = cpuSeconds(pid)
  const command = [process.execPath, script('load.ts'), String(port), String(connections), String(seconds)]
  const load = spawn('taskset', ['-c', loadCore, ...command], { stdio: ['ignore', 'pipe', 'inherit'] })
  let output = ''
  load.stdout.on('data', (piece: Buffer) => (output += piece.toString()))
  await once(load, 'close')
  const { total, ...rest } = JSON.parse(output) as Omit<Result, 'perCpuSecond'> & { readonly total: number }
  const result = { ...rest, perCpuSecond: total / (cpuSeconds(pid) - before) }
  const { perSecond, p99Ms, failures, perCpuSecond } = result
  const failed = failures === 0 ? '' : `, ${failures} FAILED`
  const rate = `${perSecond.toFixed(0)} requests/s, p99 ${p99Ms.toFixed(1)} ms`
  console.log(`  ${name.padEnd(6)} ${rate}, ${perCpuSecond.toFixed(0)} requests/s of CPU time${failed}`)
  return result
}

function cpuSeconds(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ')
  return (Number(fields[11]) + Number(fields[12])) / clockTicksPerSecond
}

async function waitForPort(port: number): Promise<void> {
  for (let attempts = 0; attempts < 100; attempts++) {
    const socket = connect({ port, host: '127.0.0.1' })
    const isOpen = await new Promise(resolve => {
      socket.once('connect', () => resolve(true)).once('error', () => resolve(false))
    })
    socket.destroy()
    if (isOpen) return
    await new Promise(resolve => setTimeout(resolve, 100))
  }
  throw new Error(`nothing listens on port ${port}`)
}

function hasNginx(): boolean {
  try {
    execFileSync('nginx', ['-v'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

function script(name: string): string {
  return fileURLToPath(new URL(`./ingress/${name}`, import.meta.url))
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? NaN
}
