/** An image registry on loopback, public or with a password. It is stopped when the test ends. */
import { execFile, spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import type { TestContainerd } from './test-containerd.ts'

const program = '/usr/bin/docker-registry'

export const registryMissing: string | false = !existsSync(program) && 'not installed: docker-registry'

/** The user of a private registry. */
export const registryUser = { username: 'me', password: 'secret' }

/** bcrypt, the only hash that the registry supports. */
const passwordFile = 'me:$2b$04$.u9NPa45MNQdsyoaq0IjcOXQZiJxczbUG0lTBdDtZERV5tkjnReXa\n'

export class TestRegistry implements AsyncDisposable {
  readonly address: string
  readonly #folder: string
  readonly #process: ChildProcess
  readonly #isPrivate: boolean

  private constructor(options: {
    readonly address: string
    readonly folder: string
    readonly process: ChildProcess
    readonly isPrivate: boolean
  }) {
    this.address = options.address
    this.#folder = options.folder
    this.#process = options.process
    this.#isPrivate = options.isPrivate
  }

  static async start({ isPrivate }: { readonly isPrivate: boolean }): Promise<TestRegistry> {
    const folder = await mkdtemp(join(tmpdir(), 'k8ts-registry-'))
    await writeFile(join(folder, 'passwords'), passwordFile)
    const configuration = {
      version: 0.1,
      log: { level: 'info', accesslog: { disabled: true } },
      storage: { filesystem: { rootdirectory: join(folder, 'data') } },
      http: { addr: '127.0.0.1:0', secret: 'test' },
      ...(isPrivate && { auth: { htpasswd: { realm: 'test', path: join(folder, 'passwords') } } }),
    }
    // JSON is valid YAML.
    const path = join(folder, 'configuration.yaml')
    await writeFile(path, JSON.stringify(configuration))
    const child = spawn(program, ['serve', path], { stdio: ['ignore', 'ignore', 'pipe'] })
    return new TestRegistry({ address: await addressOf(child), folder, process: child, isPrivate })
  }

  /** Copies an image from the node. */
  async push(node: TestContainerd, image: string, name: string): Promise<void> {
    const { username, password } = registryUser
    const user = this.#isPrivate ? ['--user', `${username}:${password}`] : []
    const target = ['-a', node.containerd.socketPath, '-n', 'k8s.io', 'images']
    const run = promisify(execFile)
    await run('ctr', [...target, 'push', '--plain-http', ...user, `${this.address}/${name}`, image])
  }

  /** Makes the node pull images of this host from this registry; `_default` for all other hosts. */
  async serve(node: TestContainerd, host: string): Promise<void> {
    const folder = join(node.containerd.registryFolder, host)
    await mkdir(folder, { recursive: true })
    const url = JSON.stringify(`http://${this.address}`)
    const text = `server = ${url}\n[host.${url}]\n  capabilities = ["pull", "resolve"]\n`
    await writeFile(join(folder, 'hosts.toml'), text)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const exited = once(this.#process, 'exit')
    if (this.#process.exitCode === null && this.#process.kill('SIGKILL')) await exited
    await rm(this.#folder, { recursive: true, force: true })
  }
}

async function addressOf(child: ChildProcess): Promise<string> {
  const lines = createInterface({ input: child.stderr! })
  const said: string[] = []
  for await (const line of lines) {
    said.push(line)
    const [, address] = /listening on ([0-9.]+:\d+)/.exec(line) ?? []
    if (address === undefined) continue
    lines.close()
    child.stderr!.resume()
    return address
  }
  throw new Error(`the registry ended: ${said.join('\n')}`)
}
