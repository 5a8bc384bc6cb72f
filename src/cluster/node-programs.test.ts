import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { nodePlatform } from '#/platform/node.ts'
import { installCommand, isBusyBox, nodePrograms, type NodeProgram } from './node-programs.ts'

function named(names: string): readonly NodeProgram[] {
  return names.split(' ').map(name => {
    const found = nodePrograms.find(program => program.name === name)
    assert.ok(found, name)
    return found
  })
}

test('one command installs the missing packages of the distribution', () => {
  const check = (osRelease: string, missing: string, expected: string): void => {
    assert.equal(installCommand(osRelease.replaceAll('; ', '\n'), named(missing)), expected, osRelease)
  }
  const all = 'containerd runc cni/ptp nft ip'
  check(
    'PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"; VERSION_ID="12"; ID=debian',
    all,
    'apt-get install containerd runc containernetworking-plugins nftables iproute2',
  )
  check(
    'NAME="Fedora Linux"; ID=fedora; PLATFORM_ID="platform:f42"',
    all,
    'dnf install containerd runc containernetworking-plugins nftables iproute',
  )
  check(
    'NAME="Arch Linux"; ID=arch; BUILD_ID=rolling',
    all,
    'pacman -S containerd runc cni-plugins nftables iproute2',
  )
  check(
    'NAME="Alpine Linux"; ID=alpine; VERSION_ID=3.22.0',
    all,
    'apk add containerd runc cni-plugins nftables iproute2',
  )
  check('ID=ubuntu; ID_LIKE=debian', 'nft', 'apt-get install nftables')
  check('ID=linuxmint; ID_LIKE="ubuntu debian"', 'mount', 'apt-get install mount')
  check('ID="rocky"; ID_LIKE="rhel centos fedora"', 'ip mount', 'dnf install iproute util-linux-core')
  check("ID='manjaro'; ID_LIKE='arch'", 'mount conntrack', 'pacman -S util-linux conntrack-tools')
  check('ID=alpine', 'ip rm iptables mkfs.ext4', 'apk add iproute2 coreutils iptables e2fsprogs')
  check('ID=fedora', 'iptables conntrack', 'dnf install iptables-nft conntrack-tools')
  const unknown = 'install them with the package manager of this system'
  check('ID=nixos', all, unknown)
  check('VARIANT_ID=debian', all, unknown)
  check('', 'nft', unknown)
})

test('BusyBox applets do not count as installed programs', () => {
  assert.ok(isBusyBox('/bin/busybox'))
  assert.ok(!isBusyBox('/usr/bin/ip'))
})

test('tools/setup installs the packages of the node programs', async () => {
  const { files } = nodePlatform({ log: { level: 'error', format: 'text' } })
  const path = fileURLToPath(new URL('../../tools/packages/run.txt', import.meta.url))
  const list = Buffer.from(await files.read(path)).toString()
  const rows = list.split('\n').map(line => line.split(/\s+/))
  for (const [name = '', debian, fedora, arch, alpine] of rows) {
    const program = nodePrograms.find(each => each.name === name)
    if (program) assert.deepEqual(program.packages, { debian, fedora, arch, alpine }, name)
  }
})
