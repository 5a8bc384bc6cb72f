/**
 * A proxier of the mode userspace in a network namespace, where its sockets have to be: as a program it executes
 * commands from stdin, one line of JSON each; `RemoteProxier` sends them.
 */
import { spawn, type ChildProcess } from 'node:child_process'
import { createInterface } from 'node:readline'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { nodeLinux, nodePlatform } from '#/platform/node.ts'
import type { PortPlan } from '#/proxy/plan.ts'
import type { Proxier, ProxyNetwork } from '#/proxy/proxier.ts'
import { UserspaceProxier } from '#/proxy/userspace.ts'

interface Command {
  readonly id: number
  readonly does: 'set' | 'apply' | 'verify' | 'dispose'
  readonly service?: string
  readonly ports?: readonly PortPlan[]
  readonly nowMs?: number
}

interface Answer {
  readonly id: number
  readonly result?: boolean
  readonly nextApplyMs?: number
  readonly isFullSyncNeeded: boolean
  readonly error?: string
}

export class RemoteProxier implements Proxier {
  readonly mode = 'userspace'
  readonly #process: ChildProcess
  readonly #waiting = new Map<number, (answer: Answer) => void>()
  #count = 0
  #state: Pick<Answer, 'nextApplyMs' | 'isFullSyncNeeded'> = { isFullSyncNeeded: true }

  constructor(namespace: string, network: ProxyNetwork) {
    const program = [process.execPath, fileURLToPath(import.meta.url), JSON.stringify(network)]
    const command = ['ip', 'netns', 'exec', namespace, ...program]
    this.#process = spawn(command[0]!, command.slice(1), { stdio: ['pipe', 'pipe', 'inherit'] })
    createInterface({ input: this.#process.stdout! }).on('line', line => {
      const answer = JSON.parse(line) as Answer
      this.#state = answer
      this.#waiting.get(answer.id)?.(answer)
      this.#waiting.delete(answer.id)
    })
  }

  get isFullSyncNeeded(): boolean {
    return this.#state.isFullSyncNeeded
  }

  get nextApplyMs(): number | undefined {
    return this.#state.nextApplyMs
  }

  set(service: string, ports: readonly PortPlan[]): void {
    void this.#tell({ does: 'set', service, ports })
  }

  apply(nowMs: number): Promise<boolean> {
    return this.#tell({ does: 'apply', nowMs })
  }

  verify(): Promise<boolean> {
    return this.#tell({ does: 'verify' })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#tell({ does: 'dispose' })
    const exited = once(this.#process, 'exit')
    this.#process.stdin!.end()
    await exited
  }

  async #tell(command: Omit<Command, 'id'>): Promise<boolean> {
    const id = this.#count++
    const { promise, resolve } = Promise.withResolvers<Answer>()
    this.#waiting.set(id, resolve)
    this.#process.stdin!.write(`${JSON.stringify({ id, ...command })}\n`)
    const { result = true, error } = await promise
    if (error !== undefined) throw new Error(error)
    return result
  }
}

if (import.meta.main) {
  const platform = nodePlatform({ log: { level: 'error', format: 'text' } })
  const network = JSON.parse(process.argv[2] ?? '') as ProxyNetwork
  const proxier = new UserspaceProxier({ platform, linux: await nodeLinux(), log: platform.log, network })
  createInterface({ input: process.stdin })
    .on('line', line => void obey(proxier, JSON.parse(line) as Command))
    .once('close', () => process.exit())
}

async function obey(proxier: Proxier, command: Command): Promise<void> {
  const outcome = await execute(proxier, command).then(
    result => ({ result }),
    (error: unknown) => ({ error: String(error) }),
  )
  const { nextApplyMs, isFullSyncNeeded } = proxier
  const answer = { id: command.id, isFullSyncNeeded, nextApplyMs, ...outcome }
  process.stdout.write(`${JSON.stringify(answer)}\n`)
}

async function execute(
  proxier: Proxier,
  { does, service = '', ports = [], nowMs = 0 }: Command,
): Promise<boolean> {
  const { signal } = new AbortController()
  if (does === 'set') proxier.set(service, ports)
  else if (does === 'apply') return proxier.apply(nowMs, signal)
  else if (does === 'verify') return proxier.verify(signal)
  else await proxier[Symbol.asyncDispose]()
  return true
}
