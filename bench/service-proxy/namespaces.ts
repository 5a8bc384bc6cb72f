/** Network namespaces of the benchmark: a node that routes, a client and a server. */
import type { Linux } from '#/platform/linux.ts'

export const addresses = { client: '10.244.1.1', server: '10.244.2.2' }

export class Namespaces implements AsyncDisposable {
  readonly node: Pick<Linux, 'run'>
  readonly #linux: Pick<Linux, 'run'>
  readonly #prefix: string

  private constructor(linux: Pick<Linux, 'run'>, prefix: string) {
    this.#linux = linux
    this.#prefix = prefix
    this.node = {
      run: (command, options) => linux.run([...this.inside('node'), ...command], options),
    }
  }

  static async create(linux: Pick<Linux, 'run'>, prefix: string): Promise<Namespaces> {
    const namespaces = new Namespaces(linux, prefix)
    const node = `${prefix}-node`
    await linux.run(['ip', 'netns', 'add', node])
    const { run } = namespaces.node
    await run(['ip', 'link', 'set', 'lo', 'up'])
    await run(['sh', '-c', 'echo 1 >/proc/sys/net/ipv4/ip_forward'])
    for (const [name, address] of Object.entries(addresses)) {
      const own = `${prefix}-${name}`
      await linux.run(['ip', 'netns', 'add', own])
      await run(['ip', 'link', 'add', name, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', own])
      await run(['ip', 'address', 'add', '169.254.1.1/32', 'dev', name])
      await run(['ip', 'link', 'set', name, 'up'])
      await run(['ip', 'route', 'add', `${address}/32`, 'dev', name])
      const commands = [
        `ip address add ${address}/32 dev eth0`,
        'ip link set eth0 up',
        'ip route add 169.254.1.1 dev eth0',
        'ip route add default via 169.254.1.1',
      ]
      await linux.run([...namespaces.inside(name), 'sh', '-ec', commands.join('\n')])
    }
    return namespaces
  }

  /** Command prefix. */
  inside(name: string): readonly string[] {
    return ['ip', 'netns', 'exec', `${this.#prefix}-${name}`]
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const name of ['node', ...Object.keys(addresses)])
      await this.#linux.run(['ip', 'netns', 'delete', `${this.#prefix}-${name}`]).catch(() => undefined)
  }
}
