/**
 * An address of this machine that the nodes of a cluster on it reach, but no other machine does. Further nodes
 * have network namespaces, and thus loopback interfaces, of their own.
 */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

export class RegistryAddress implements AsyncDisposable {
  readonly address: string

  private constructor(address: string) {
    this.address = address
  }

  /** Takes the first free address of TEST-NET-3 (RFC 5737) for the loopback interface. */
  static async add(): Promise<RegistryAddress> {
    for (let host = 1; host < 255; host += 1) {
      const address = `203.0.113.${host}`
      try {
        await ip('add', address)
        return new RegistryAddress(address)
      } catch (error) {
        const { stderr = '' } = error as { readonly stderr?: string }
        if (!/File exists|already assigned/.test(stderr)) throw error
      }
    }
    throw new Error('all addresses of 203.0.113.0/24 are in use: remove some with ip address del')
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await ip('del', this.address)
  }
}

async function ip(action: 'add' | 'del', address: string): Promise<void> {
  await promisify(execFile)('ip', ['address', action, `${address}/32`, 'dev', 'lo'])
}
