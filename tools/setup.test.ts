import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'

const setup = join(import.meta.dirname, 'setup')
const skip =
  process.getuid?.() === 0 ? false : 'replaces /etc/os-release in a mount namespace, which needs root'

/** All programs that the script calls on a system without apt. */
const programs = ['sh', 'cat', 'grep', 'sort', 'tr', 'sed', 'id', 'find', 'dirname', 'mkdir', 'touch']
const installed = [...programs, 'mount', 'nsenter', 'ip', 'rm']

/** The output of the setup script on a system without containerd and catatonit. */
function setupOn(t: TestContext, osRelease: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'k8ts-setup-'))
  t.after(() => rmSync(folder, { recursive: true }))
  for (const name of installed) symlinkSync(`/usr/bin/${name}`, join(folder, name))
  writeFileSync(join(folder, 'os-release'), osRelease)
  const script = `mount --bind ${folder}/os-release /etc/os-release && PATH=${folder} exec ${setup} 2>&1`
  const { CI: _, ...environment } = process.env
  return execFileSync('unshare', ['--mount', 'sh', '-c', script], { encoding: 'utf8', env: environment })
}

const cases: readonly (readonly [system: string, osRelease: string, howTo: string])[] = [
  ['Fedora', 'ID=fedora\n', 'run: dnf install catatonit containerd'],
  ['Rocky Linux', 'ID="rocky"\nID_LIKE="rhel centos fedora"\n', 'run: dnf install catatonit containerd'],
  ['Arch', 'ID=arch\n', 'run: pacman -S catatonit containerd'],
  ['Alpine', 'ID=alpine\n', 'run: apk add catatonit containerd'],
  ['an unknown system', 'ID=plan9\n', 'install catatonit containerd with the packages of this system'],
]

for (const [system, osRelease, howTo] of cases) {
  test(`on ${system} set-up says in one line what is missing and how to install it`, { skip }, t => {
    assert.equal(setupOn(t, osRelease), `setup: missing: catatonit containerd; ${howTo}\n`)
  })
}
