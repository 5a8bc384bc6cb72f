import assert from 'node:assert/strict'
import { execFile, execFileSync } from 'node:child_process'
import { networkInterfaces } from 'node:os'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { RegistryAddress } from './registry-address.ts'
import { Registry } from './registry.ts'

const skip = process.getuid?.() !== 0 && 'network namespaces need root'

test('a network namespace reaches a registry on the address, until it is removed', { skip }, async () => {
  const namespace = `k8ts-registry-${process.pid}`
  const link = `k8tsr${process.pid}`
  const ip = (...words: readonly string[]): Buffer => execFileSync('ip', words)
  let removed = ''
  {
    await using own = await RegistryAddress.add()
    await using other = await RegistryAddress.add()
    removed = own.address
    assert.notEqual(own.address, other.address)
    await using registry = await Registry.start([], own.address)
    ip('netns', 'add', namespace)
    try {
      ip('link', 'add', link, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', namespace)
      ip('address', 'add', '203.0.113.253/31', 'dev', link)
      ip('link', 'set', link, 'up')
      ip('-n', namespace, 'address', 'add', '203.0.113.252/31', 'dev', 'eth0')
      ip('-n', namespace, 'link', 'set', 'eth0', 'up')
      ip('-n', namespace, 'route', 'add', 'default', 'via', '203.0.113.253')
      const program = `fetch('${registry.url}/v2/').then(answer => console.log(answer.status))`
      const node = ['netns', 'exec', namespace, process.execPath, '-e', program]
      const child = await promisify(execFile)('ip', node)
      assert.equal(child.stdout, '200\n')
    } finally {
      ip('netns', 'delete', namespace)
    }
  }
  const left = Object.values(networkInterfaces()).flatMap(all => (all ?? []).map(({ address }) => address))
  assert.equal(left.includes(removed), false)
})
