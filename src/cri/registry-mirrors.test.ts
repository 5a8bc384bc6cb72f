import assert from 'node:assert/strict'
import { test } from 'node:test'
import { UsageError } from '#/base/flags.ts'
import { Simulation } from '#/platform/simulated.ts'
import type { Files } from '#/platform/platform.ts'
import {
  ensureRegistryMirrors,
  hostsToml,
  parseRegistryMirror,
  planRegistryMirrors,
  type RegistryFolder,
} from './registry-mirrors.ts'

test('a registry mirror is parsed from HOST=URL', () => {
  const check = (text: string, expected: string): void => {
    const { host, url } = parseRegistryMirror(text)
    assert.equal(`${host} ${url}`, expected)
  }
  check('docker.io=https://mirror.example.com', 'docker.io https://mirror.example.com')
  check('registry.k8s.io=http://10.0.0.5:5000/', 'registry.k8s.io http://10.0.0.5:5000')
  check('registry.example.com:5000=HTTP://Mirror', 'registry.example.com:5000 http://mirror')
  check('_default=https://m.example/a/b/', '_default https://m.example/a/b')
  check('localhost=http://[::1]:5000', 'localhost http://[::1]:5000')
  check('[fd00::1]:5000=https://m.example', '[fd00::1]:5000 https://m.example')
  check('registry:5000=https://m.example/v2/hub', 'registry:5000 https://m.example/v2/hub')
})

test('invalid registry mirrors are rejected with the reason', () => {
  const check = (text: string, message: string): void => {
    assert.throws(() => parseRegistryMirror(text), new UsageError(message))
  }
  const form = 'is not HOST=URL, as in docker.io=https://mirror.example.com'
  check('', ` ${form}`)
  check('docker.io', `docker.io ${form}`)
  check('docker.io=', `docker.io= ${form}`)
  check('=https://m.example', `=https://m.example ${form}`)
  const host = 'is not a registry: use a name such as docker.io, HOST:PORT, or _default'
  check('docker=https://m.example', `docker ${host}`)
  check('https://docker.io=https://m.example', `https://docker.io ${host}`)
  check('docker.io/library=https://m.example', `docker.io/library ${host}`)
  check('..=https://m.example', `.. ${host}`)
  check('a.b:70000=https://m.example', `a.b:70000 ${host}`)
  const url = 'is not a URL that begins with http:// or https://'
  check('docker.io=mirror.example.com', `mirror.example.com ${url}`)
  check('docker.io=ftp://m.example', `ftp://m.example ${url}`)
  check('docker.io=https://', `https:// ${url}`)
  const parts = 'may have a host, a port and a path, and nothing else'
  check('docker.io=https://me:secret@m.example', `https://me:secret@m.example ${parts}`)
  check('docker.io=https://m.example?a=b', `https://m.example?a=b ${parts}`)
})

const head =
  '# Written by k8ts up --registry-mirror, which replaces this file at each start. ' +
  'Without this line the file is yours.\n'

test('hosts.toml lists the mirrors in order and without duplicates', () => {
  const check = (urls: string, ...sections: readonly string[]): void => {
    assert.equal(hostsToml(urls.split(' ')), [head, ...sections].join('\n'))
  }
  const section = (url: string, more = ''): string =>
    `[host."${url}"]\n  capabilities = ["pull", "resolve"]\n${more}`
  check('https://m.example', section('https://m.example'))
  check('http://b:5000 https://a http://b:5000', section('http://b:5000'), section('https://a'))
  check('https://m.example/hub', section('https://m.example/hub'))
  check('https://m.example/v2', section('https://m.example/v2'))
  check('https://m.example/v2/hub', section('https://m.example/v2/hub', '  override_path = true\n'))
})

test('hosts.toml files are written and removed only for hosts of the flag', () => {
  const written = hostsToml(['https://m.example'])
  /** `a:mine`, `a:ours`, `a:stale` or `a:ca.crt`: what is in the folder of a registry. */
  const folder = (text: string): RegistryFolder => {
    const [, name = '', kinds = ''] = /^(.*):([^:]*)$/.exec(text) ?? []
    const texts = { ours: written, stale: `${head}old`, mine: 'server = "https://x"' }
    const files = kinds.split('+').map(kind => (kind in texts ? 'hosts.toml' : kind))
    const kind = kinds.split('+').find((each): each is keyof typeof texts => each in texts)
    return { name, files, ...(kind && { hostsToml: texts[kind] }) }
  }
  const check = (hosts: string, folders: string, expected: string): void => {
    const words = (text: string): readonly string[] => text.split(' ').filter(Boolean)
    const mirrors = words(hosts).map(host => ({ host, url: 'https://m.example' }))
    const plan = planRegistryMirrors(mirrors, words(folders).map(folder))
    const said =
      'conflict' in plan
        ? `${plan.host} has ${plan.conflict}`
        : [...[...plan.write.keys()].map(path => `+${path}`), ...plan.remove.map(path => `-${path}`)].join(
            ' ',
          )
    assert.equal(said, expected, `${hosts} on ${folders}`)
  }
  check('', '', '')
  check('a.b c.d:1', '', '+a.b/hosts.toml +c.d:1/hosts.toml')
  check('a.b', 'a.b:ours', '')
  check('a.b', 'a.b:stale', '+a.b/hosts.toml')
  check('', 'a.b:ours c.d:stale e.f:mine g.h:ca.crt', '-a.b -c.d')
  check('', 'a.b:ours+ca.crt', '-a.b/hosts.toml')
  check('a.b', 'c.d:ours e.f:mine', '+a.b/hosts.toml -c.d')
  check('a.b', 'a.b:mine', 'a.b has a.b/hosts.toml')
  check('a.b', 'a.b:ca.crt', 'a.b has a.b/ca.crt')
  check('a.b', 'a.b:ca.crt+mine', 'a.b has a.b/hosts.toml')
  check('a.b', 'a.b:ours+ca.crt', 'a.b has a.b/ca.crt')
  check('a.b:5', 'a.b_5_:mine', 'a.b:5 has a.b_5_/hosts.toml')
  check('a.b', 'a.b:5:mine', '+a.b/hosts.toml')
  check('_default', '_default:mine', '_default has _default/hosts.toml')
})

test('a hosts.toml of the user is kept and reported, and nothing is written', async () => {
  const simulation = new Simulation({ seed: 1 })
  const { files } = simulation.host('node')
  const folder = '/data/node/containerd/certs.d'
  const mirrors = (...hosts: readonly string[]) => hosts.map(host => ({ host, url: 'https://m.example' }))
  await simulation.run(
    (async () => {
      await ensureRegistryMirrors({ files, folder, mirrors: [] })
      await ensureRegistryMirrors({ files, folder, mirrors: mirrors('a.b', 'c.d:5000') })
      assert.deepEqual(await files.list(folder), ['a.b', 'c.d:5000'])
      assert.equal(await textOf(files, `${folder}/a.b/hosts.toml`), hostsToml(['https://m.example']))
      await files.makeFolder(`${folder}/e.f`)
      await files.write(`${folder}/e.f/hosts.toml`, 'server = "https://mine"\n')
      await assert.rejects(ensureRegistryMirrors({ files, folder, mirrors: mirrors('x.y', 'e.f') }), {
        message:
          `--registry-mirror e.f: ${folder}/e.f/hosts.toml was not written by this flag: ` +
          'remove that file, or leave the flag out and add the mirror to the file',
      })
      assert.deepEqual(await files.list(folder), ['a.b', 'c.d:5000', 'e.f'])
      await ensureRegistryMirrors({ files, folder, mirrors: mirrors('c.d:5000') })
      assert.deepEqual(await files.list(folder), ['c.d:5000', 'e.f'])
      await ensureRegistryMirrors({ files, folder, mirrors: [] })
      assert.deepEqual(await files.list(folder), ['e.f'])
      assert.equal(await textOf(files, `${folder}/e.f/hosts.toml`), 'server = "https://mine"\n')
    })(),
  )
})

async function textOf(files: Files, path: string): Promise<string> {
  return Buffer.from(await files.read(path)).toString()
}
