/** The measured processes: the API server as a user starts it, and the bare server. */
import { spawn, type ChildProcess } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseYaml } from '#/api/text/yaml.ts'
import type { Target } from './load.ts'

/** No controller creates the ServiceAccounts of pods here. */
const withoutAccounts = '--disable-admission-plugins=ServiceAccount'

const root = join(import.meta.dirname, '../..')

export interface Running extends AsyncDisposable {
  readonly target: Target
  readonly pid: number
  /** From process start to the first response. */
  readonly startMs: number
}

export async function startApiServer(
  folder: string,
  environment = process.env,
  flags: readonly string[] = [],
): Promise<Running> {
  const started = performance.now()
  const child = spawn(
    join(root, 'k8ts'),
    ['apiserver', withoutAccounts, '--data-dir', folder, '--port', '0', ...flags],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: environment,
    },
  )
  await lineOf(child, /ready in/u)
  const startMs = performance.now() - started
  return {
    target: readTarget(join(folder, 'admin.conf')),
    pid: child.pid!,
    startMs,
    [Symbol.asyncDispose]: () => stop(child),
  }
}

export async function startBareServer(folder: string, bodies: readonly string[]): Promise<Running> {
  const started = performance.now()
  const [cert, key] = ['apiserver.crt', 'apiserver.key'].map(name => join(folder, 'pki', name))
  const child = spawn(
    process.execPath,
    [join(import.meta.dirname, 'bare-server.ts'), cert!, key!, ...bodies],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  )
  const line = await lineOf(child, /listening \d+/u)
  const port = Number(/\d+/u.exec(line)?.[0])
  const target = { ...readTarget(join(folder, 'admin.conf')), port }
  return {
    target,
    pid: child.pid!,
    startMs: performance.now() - started,
    [Symbol.asyncDispose]: () => stop(child),
  }
}

interface Kubeconfig {
  readonly clusters: readonly [{ readonly cluster: Readonly<Record<string, string>> }]
  readonly users: readonly [{ readonly user: Readonly<Record<string, string>> }]
}

export function readTarget(path: string): Target {
  const {
    clusters: [{ cluster }],
    users: [{ user }],
  } = parseYaml(readFileSync(path)) as unknown as Kubeconfig
  const decode = (text = ''): string => Buffer.from(text, 'base64').toString()
  const { token } = user
  return {
    port: Number(new URL(cluster['server']!).port),
    ca: decode(cluster['certificate-authority-data']),
    cert: decode(user['client-certificate-data']),
    key: decode(user['client-key-data']),
    ...(token !== undefined && { token }),
  }
}

function lineOf(child: ChildProcess, pattern: RegExp): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = ''
    child.stdout!.on('data', (bytes: Buffer) => {
      text += bytes.toString()
      if (pattern.test(text)) resolve(text)
    })
    child.once('exit', code => reject(new Error(`it ended with code ${code}: ${text}`)))
  })
}

async function stop(child: ChildProcess): Promise<void> {
  const exited = new Promise<void>(resolve => {
    child.once('exit', () => resolve())
  })
  child.kill('SIGTERM')
  await exited
}

/** Resident memory and CPU time of a process, as reported by the kernel. */
export function usageOf(pid: number): { readonly memoryMb: number; readonly cpuSeconds: number } {
  const pages = Number(readFileSync(`/proc/${pid}/statm`, 'utf8').split(' ')[1])
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ')
  const ticks = Number(fields[11]) + Number(fields[12])
  return { memoryMb: (pages * 4_096) / 1e6, cpuSeconds: ticks / 100 }
}

export interface Usage {
  /** CPU time of all threads, and of the first one, which is the event loop. */
  readonly processMs: number
  readonly loopMs: number
}

/** More precise than `usageOf`; does not include threads that have ended. */
export function threadUsageOf(pid: number): Usage {
  const threads = readdirSync(`/proc/${pid}/task`).map(thread => {
    const nanoseconds = readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ')[0]
    return { thread, ms: Number(nanoseconds) / 1e6 }
  })
  return {
    processMs: threads.reduce((sum, { ms }) => sum + ms, 0),
    loopMs: threads.find(({ thread }) => thread === String(pid))?.ms ?? 0,
  }
}
