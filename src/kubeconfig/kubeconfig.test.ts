import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Simulation } from '#/platform/simulated.ts'
import type { ConnectionSettings } from './connection-settings.ts'
import {
  changeKubeconfig,
  kubeconfigPaths,
  loadKubeconfig,
  mergeKubeconfigs,
  settingsOf,
  type ClusterEntry,
  type ContextEntry,
  type KubeconfigEdit,
  type KubeconfigFile,
  type KubeconfigOverrides,
  type UserEntry,
} from './kubeconfig.ts'

test('kubeconfig files are selected by flag, environment and default', () => {
  const check = (environment: Record<string, string>, expected: string[], explicitPath = ''): void => {
    assert.deepEqual(kubeconfigPaths({ environment, explicitPath, workingFolder: '/here' }), expected)
  }
  check({ HOME: '/home/me' }, ['/home/me/.kube/config'])
  check({ HOME: '/home/me', KUBECONFIG: '' }, ['/home/me/.kube/config'])
  check({ HOME: '/home/me', KUBECONFIG: '/a:b::/a:../c' }, ['/a', '/here/b', '/c'])
  check({ HOME: '/home/me', KUBECONFIG: '/a' }, ['/here/x'], 'x')
  check({ KUBECONFIG: '/a' }, ['/x'], '/x')
  check({}, [])
})

test('kubeconfig files are merged; the first definition wins', () => {
  const merged = mergeKubeconfigs([
    {
      path: '/a',
      content: { users: [{ name: 'red', user: { token: '1' } }], contexts: [{ name: 'x' }] },
    },
    {
      path: '/b',
      content: {
        'current-context': 'b',
        'users': [{ name: 'red', user: { username: 'u' } }, { name: 'blue' }],
      },
    },
    {
      path: '/c',
      content: { 'current-context': 'c', 'clusters': [{ name: '__proto__', cluster: { server: 's' } }] },
    },
  ])
  assert.equal(merged.currentContext, 'b')
  assert.deepEqual(
    merged.users,
    new Map([
      ['red', { value: { token: '1' }, file: '/a' }],
      ['blue', { value: {}, file: '/b' }],
    ]),
  )
  assert.deepEqual(merged.contexts.get('x'), { value: {}, file: '/a' })
  assert.deepEqual(merged.clusters.get('__proto__'), { value: { server: 's' }, file: '/c' })
})

const cluster: ClusterEntry = { server: 'https://host:6443' }

test('a kubeconfig context selects server, user and namespace', () => {
  check({}, { server: 'https://host:6443', namespace: 'default', user: {} })
  check({ context: { namespace: 'here' } }, { namespace: 'here' })
  check({ context: { namespace: 'here' }, overrides: { namespace: 'there' } }, { namespace: 'there' })
  check({ cluster: { server: 'host:8080' } }, { server: 'http://host:8080' })
  check(
    { cluster: { ...cluster, 'tls-server-name': 'n', 'disable-compression': true } },
    {
      serverName: 'n',
      disableCompression: true,
    },
  )
  check({ cluster: { ...cluster, 'insecure-skip-tls-verify': true } }, { insecureSkipVerify: true })
  check(
    { cluster: { ...cluster, 'certificate-authority-data': 'Y2E=' } },
    {
      ca: { data: Buffer.from('ca') },
    },
  )
  check(
    { cluster: { ...cluster, 'certificate-authority': 'pki/ca.crt' } },
    {
      ca: { file: '/etc/kube/pki/ca.crt' },
    },
  )
})

test('kubeconfig credentials: certificates, tokens, passwords, exec plugins and impersonation', () => {
  const pair = { 'client-certificate': 'a.crt', 'client-key-data': 'a2V5' }
  checkUser(pair, { certificate: { cert: { file: '/etc/kube/a.crt' }, key: { data: Buffer.from('key') } } })
  checkUser({ token: 't' }, { token: { data: 't' } })
  checkUser({ token: 't', tokenFile: '../t' }, { token: { file: '/etc/t' } })
  checkUser({ username: 'u', password: 'p' }, { basic: { username: 'u', password: 'p' } })
  checkUser(
    { 'as': 'bob', 'as-groups': ['g'], 'as-uid': '7', 'as-user-extra': { k: ['v'] } },
    { impersonate: { username: 'bob', groups: ['g'], uid: '7', extra: { k: ['v'] } } },
  )
  const exec = { apiVersion: 'client.authentication.k8s.io/v1', command: 'login', interactiveMode: 'Never' }
  const plugin = { apiVersion: exec.apiVersion, interactiveMode: 'Never', environment: {} } as const
  checkUser({ exec }, { exec: { ...plugin, command: ['login'] } })
  checkUser(
    { exec: { ...exec, command: './bin/login', args: ['-v'], env: [{ name: 'A', value: 'b' }] } },
    { exec: { ...plugin, command: ['/etc/kube/bin/login', '-v'], environment: { A: 'b' } } },
  )
  checkUser(
    { exec: { ...exec, provideClusterInfo: true, installHint: 'buy it' } },
    { exec: { ...plugin, command: ['login'], installHint: 'buy it', cluster: { ...cluster } } },
  )
  checkUser({ exec, token: 't' }, { token: { data: 't' } })
  const older = 'client.authentication.k8s.io/v1beta1'
  checkUser(
    { exec: { command: 'login', apiVersion: older } },
    { exec: { ...plugin, apiVersion: older, command: ['login'], interactiveMode: 'IfAvailable' } },
  )
})

test('overrides take precedence over the kubeconfig', () => {
  const user = { 'client-certificate': 'a', 'client-key': 'b', 'token': 'old' }
  const overridden: KubeconfigOverrides = { user: { token: 'new' }, cluster: { server: 'https://other' } }
  check(
    { user, overrides: overridden },
    {
      server: 'https://other',
      user: {
        certificate: { cert: { file: '/etc/kube/a' }, key: { file: '/etc/kube/b' } },
        token: { data: 'new' },
      },
    },
  )
  check(
    { user: { tokenFile: 't' }, overrides: { user: { username: 'u' } } },
    {
      user: { basic: { username: 'u', password: '' } },
    },
  )
  const trusting: KubeconfigOverrides = { cluster: { 'insecure-skip-tls-verify': true } }
  check(
    { cluster: { ...cluster, 'certificate-authority-data': 'Y2E=' }, overrides: trusting },
    { insecureSkipVerify: true },
  )
  check({ overrides: { userName: '' } }, { user: {} })
  const lone = settingsOf(mergeKubeconfigs([]), { cluster: { server: 'http://localhost:8080' } })
  assert.equal(lone?.server, 'http://localhost:8080')
})

test('contradicting kubeconfig settings are rejected by name', () => {
  refuse({ overrides: { context: 'no' } }, /context was not found for specified context: no$/)
  refuse({ context: { cluster: 'no' } }, /no server found for cluster "no"/)
  refuse({ overrides: { userName: 'no' } }, /auth info "no" does not exist/)
  refuse({ cluster: {} }, /no server found for cluster "main"/)
  const proxied = (proxy: string): ClusterEntry => ({ ...cluster, 'proxy-url': proxy })
  refuse(
    { cluster: proxied('ftp://p') },
    /invalid 'proxy-url' "ftp:\/\/p" for cluster "main": unsupported scheme "ftp", must be http, https,/,
  )
  refuse({ cluster: proxied('p') }, /invalid 'proxy-url' "p" for cluster "main": could not parse: p/)
  refuse(
    { cluster: { ...cluster, 'insecure-skip-tls-verify': true, 'certificate-authority': 'x' } },
    /specifying a root certificates file with the insecure flag is not allowed/,
  )
  refuse(
    { user: { token: 't', username: 'u' } },
    /more than one authentication method found for me; found \[token basicAuth\], only one is allowed/,
  )
  refuse(
    { cluster: { ...cluster, 'certificate-authority': '/abs', 'certificate-authority-data': 'Y2E=' } },
    /certificate-authority-data and certificate-authority are both specified for main/,
  )
  refuse({ user: { 'client-certificate': 'x' } }, /client-key-data or client-key must be specified for me/)
  refuse({ user: { 'as-groups': ['g'] } }, /requesting uid, groups or user-extra for me without/)
  const exec = { apiVersion: 'client.authentication.k8s.io/v1', command: 'x' }
  refuse({ user: { exec } }, /interactiveMode must be specified for me to use exec authentication plugin/)
  refuse({ user: { exec: { ...exec, interactiveMode: 'Maybe' } } }, /invalid interactiveMode for me: "Maybe"/)
  refuse({ user: { exec: { ...exec, apiVersion: 'client.authentication.k8s.io/v1alpha1' } } }, /v1alpha1/)
  refuse(
    { user: { exec: { apiVersion: exec.apiVersion } } },
    /command must be specified for me .*; interactive/,
  )
  checkUser({ 'as-groups': [] }, {})
  assert.deepEqual(settle({ context: { user: 'no' } })?.user, {})
  assert.equal(settingsOf(mergeKubeconfigs([])), undefined)
})

test('an explicit kubeconfig must exist, and every file must be valid', async () => {
  const { write, load } = start()
  await write('/a', 'current-context: x\ncontexts: [{name: x, context: {cluster: c, user: u}}]\n')
  await write('/b', 'clusters:\n- name: c\n  cluster: {server: https://h}\nunknown: {kept: 1}\n')
  const merged = await load({ KUBECONFIG: '/a:/missing:/b' })
  assert.deepEqual([merged.currentContext, merged.clusters.get('c')?.file], ['x', '/b'])
  assert.deepEqual((await load({ HOME: '/none' })).clusters, new Map())
  await assert.rejects(load({}, '/missing'), /cannot read kubeconfig \/missing: file not found/)
  for (const [content, message] of [
    ['a: [', /cannot read kubeconfig \/x: /],
    ['[]', /cannot read kubeconfig \/x: /],
    ['clusters: {}', /cannot read kubeconfig \/x: .*clusters/],
    ['users: [{name: u, user: {token: 5}}]', /cannot read kubeconfig \/x: .*token/],
    ['kind: Pod', /cannot read kubeconfig \/x: .*no kind "Pod" is registered for version "v1"/],
    ['users: [{name: u, user: {client-key-data: YQ}}]', /: illegal base64 data at input byte 0$/],
    [
      'clusters: [{name: u, cluster: {certificate-authority-data: YWI!}}]',
      /: illegal base64 data at input byte 3$/,
    ],
  ] as const) {
    await write('/x', content)
    await assert.rejects(load({}, '/x'), message)
  }
  await write('/x', '')
  assert.equal((await load({}, '/x')).currentContext, '')
})

test('kubeconfig edits change the file of the entry, new entries go to the first file', async () => {
  const { write, read, change } = start()
  await write('/a', 'kind: Config\nusers:\n- name: red\n  user: {token: old, extra: kept}\nmine: {x: 1}\n')
  await write('/b', 'current-context: old\ncontexts:\n- name: gone\n- name: stays\n')
  await change({ KUBECONFIG: '/a:/b:/c' }, [
    { section: 'users', name: 'red', value: { token: 'new' } },
    { section: 'contexts', name: 'gone', value: undefined },
    { section: 'current-context', value: 'stays' },
    { section: 'clusters', name: 'c', value: { server: 'https://h' } },
  ])
  assert.equal(
    await read('/a'),
    [
      'apiVersion: v1',
      'clusters:',
      '- cluster:',
      '    server: https://h',
      '  name: c',
      'contexts: null',
      'current-context: ""',
      'kind: Config',
      'mine:',
      '  x: 1',
      'users:',
      '- name: red',
      '  user:',
      '    token: new',
      '',
    ].join('\n'),
  )
  assert.match(
    (await read('/b')) ?? '',
    /^apiVersion: v1\nclusters: null\ncontexts:\n- context:\n.*\n.*\n {2}name: stays\ncurrent-context: stays\n/,
  )
  assert.equal(await read('/c'), undefined)
})

test('entries are written in the order of their names', async () => {
  const { write, read, change } = start()
  await write('/a', 'users:\n- name: c\n- name: a\n')
  await change({}, [{ section: 'users', name: 'b', value: { token: 't' } }], '/a')
  assert.deepEqual((await read('/a'))?.match(/name: ./g), ['name: a', 'name: b', 'name: c'])
})

test('concurrent changes of a kubeconfig are all kept, and no lock is left', async () => {
  const { write, read, simulation } = start()
  await write('/a', '')
  const names = Array.from({ length: 10 }, (_, index) => `user-${index}`)
  const host = simulation.host('a')
  const sources = { environment: {}, explicitPath: '/a', workingFolder: '/' }
  const edit = (name: string): Promise<void> =>
    changeKubeconfig(host, sources, [{ section: 'users', name, value: { token: name } }])
  await simulation.run(Promise.all(names.map(edit)))
  assert.deepEqual((await read('/a'))?.match(/(?<=name: ).*/g), names)
  assert.deepEqual(await simulation.run(simulation.host('a').files.list('/')), ['a'])
})

test('a kubeconfig whose lock is not released is not changed', async () => {
  const { write, read, change } = start()
  await write('/a', 'current-context: x\n')
  await write('/a.lock', '')
  const edit: KubeconfigEdit = { section: 'current-context', value: 'y' }
  await assert.rejects(change({}, [edit], '/a'), /open \/a\.lock: file exists/)
  assert.equal(await read('/a'), 'current-context: x\n')
  assert.equal(await read('/a.lock'), '')
})

test('a missing kubeconfig is created; without changes nothing is written', async () => {
  const { read, change, write, simulation } = start()
  await change({ HOME: '/home/me' }, [{ section: 'current-context', value: 'x' }])
  assert.match((await read('/home/me/.kube/config')) ?? '', /^apiVersion: v1\n.*current-context: x\n/s)
  assert.equal((await simulation.run(simulation.host('a').files.stat('/home/me/.kube/config')))?.mode, 0o600)
  await write('/a', '# a comment\ncurrent-context: x\n')
  await change({}, [{ section: 'current-context', value: 'x' }], '/a')
  assert.match((await read('/a')) ?? '', /# a comment/)
  await assert.rejects(change({}, [{ section: 'current-context', value: 'x' }]), /no home directory/)
})

interface Case {
  readonly cluster?: ClusterEntry
  readonly context?: ContextEntry
  readonly user?: UserEntry
  readonly overrides?: KubeconfigOverrides
}

function settle({
  cluster: entry = cluster,
  context = {},
  user = {},
  overrides = {},
}: Case): ConnectionSettings | undefined {
  const content: KubeconfigFile = {
    'current-context': 'x',
    'clusters': [{ name: 'main', cluster: entry }],
    'contexts': [{ name: 'x', context: { cluster: 'main', user: 'me', ...context } }],
    'users': [{ name: 'me', user }],
  }
  return settingsOf(mergeKubeconfigs([{ path: '/etc/kube/config', content }]), overrides)
}

function check(given: Case, expected: Partial<ConnectionSettings>): void {
  const settings = settle(given)
  assert.deepEqual(settings, { ...settings, ...expected })
}

function checkUser(user: UserEntry, expected: ConnectionSettings['user']): void {
  assert.deepEqual(settle({ user })?.user, expected)
}

function refuse(given: Case, message: RegExp): void {
  assert.throws(() => settle(given), message)
}

function start() {
  const simulation = new Simulation({ seed: 1 })
  const host = simulation.host('a')
  const sources = (environment: Record<string, string>, explicitPath = '') => {
    return { environment, explicitPath, workingFolder: '/' }
  }
  return {
    simulation,
    write: async (path: string, content: string): Promise<void> => {
      await simulation.run(host.files.makeFolder(path.slice(0, path.lastIndexOf('/')) || '/'))
      await simulation.run(host.files.write(path, content))
    },
    read: async (path: string): Promise<string | undefined> => {
      if ((await simulation.run(host.files.stat(path))) === undefined) return undefined
      return Buffer.from(await simulation.run(host.files.read(path))).toString()
    },
    load: (environment: Record<string, string>, explicitPath?: string) => {
      return simulation.run(loadKubeconfig(host, sources(environment, explicitPath)))
    },
    change: (variables: Record<string, string>, edits: readonly KubeconfigEdit[], explicitPath?: string) => {
      return simulation.run(changeKubeconfig(host, sources(variables, explicitPath), edits))
    },
  }
}
