import assert from 'node:assert/strict'
import test from 'node:test'
import { nftFault, probeNft } from './nft-fault.ts'

test('a machine on which nft cannot work is told from a failed command', async () => {
  const check = async (error: object, expected: string | undefined): Promise<void> => {
    const thrown = Object.assign(new Error('nft failed'), error)
    assert.equal(nftFault(thrown), expected)
    const run = async (): Promise<string> => {
      throw thrown
    }
    assert.equal(await probeNft({ run }), expected)
  }
  await check({ killedBy: 'SIGSEGV' }, 'nft was killed by signal SIGSEGV')
  await check({ killedBy: 'SIGABRT' }, 'nft was killed by signal SIGABRT')
  await check({ killedBy: 'SIGKILL' }, undefined)
  await check({ code: 'ENOENT' }, 'nft is not installed')
  await check(
    { message: 'nft -f -: netlink: Error: cache initialization failed: Protocol not supported' },
    'the kernel has no nftables',
  )
  await check({ exitCode: 1, message: 'nft -f -: Error: Could not process rule: No such file' }, undefined)
  assert.equal(await probeNft({ run: async () => '' }), undefined)
})
