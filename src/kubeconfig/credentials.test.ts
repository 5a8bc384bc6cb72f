import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { InteractiveOptions } from '#/platform/io-streams.ts'
import type { Program } from '#/platform/simulated.ts'
import { Simulation } from '#/platform/simulated.ts'
import type { ExecSettings } from './connection-settings.ts'
import {
  anonymous,
  impersonating,
  staticCredentials,
  type Credentials,
  type RequestCredentials,
} from './credentials.ts'
import { execCredentials, type PluginStreams } from './exec-credentials.ts'

const { signal } = new AbortController()

test('a token takes precedence over basic auth; without credentials the request is anonymous', async () => {
  const simulation = new Simulation({ seed: 1 })
  const host = simulation.host('a')
  const basic = { username: 'me', password: 'päss' }
  const identity = (credentials: Credentials): Promise<RequestCredentials> =>
    simulation.run(credentials.current(signal))
  assert.deepEqual(await identity(staticCredentials(host, { token: { data: 't\n' }, basic })), {
    headers: { authorization: 'Bearer t' },
  })
  assert.deepEqual(await identity(staticCredentials(host, { basic })), {
    headers: { authorization: `Basic ${Buffer.from('me:päss').toString('base64')}` },
  })
  assert.deepEqual(await identity(anonymous), { headers: {} })
  const credentials = impersonating(staticCredentials(host, { token: { data: 't' } }), {
    username: 'bob',
    uid: '7',
    groups: ['a', 'b'],
    extra: { 'Scopes/x': ['v'] },
  })
  assert.deepEqual((await identity(credentials)).headers, {
    'authorization': 'Bearer t',
    'impersonate-user': 'bob',
    'impersonate-uid': '7',
    'impersonate-group': ['a', 'b'],
    'impersonate-extra-scopes%2Fx': ['v'],
  })
})

test('a credential file is reread after a minute, at once after a 401, and may be missing', async () => {
  const simulation = new Simulation({ seed: 1 })
  const { files } = simulation.host('a')
  const credentials = staticCredentials(simulation.host('a'), { token: { file: '/token' } })
  const token = async (): Promise<unknown> => {
    const { headers } = await simulation.run(credentials.current(signal))
    return headers['authorization']
  }
  await assert.rejects(token(), /cannot read \/token/)
  await simulation.run(files.write('/token', 'one\n'))
  assert.equal(await token(), 'Bearer one')
  await simulation.run(files.write('/token', 'two'))
  assert.equal(await token(), 'Bearer one')
  await simulation.advance(61_000)
  assert.equal(await token(), 'Bearer two')
  await simulation.run(files.write('/token', 'three'))
  assert.equal(credentials.onUnauthorized({ headers: {} }), true)
  assert.equal(await token(), 'Bearer three')
  await simulation.run(files.remove('/token'))
  await simulation.advance(61_000)
  assert.equal(await token(), 'Bearer three')
  assert.equal(
    staticCredentials(simulation.host('a'), { token: { data: 't' } }).onUnauthorized({ headers: {} }),
    false,
  )
})

test('an exec plugin gets an ExecCredential and returns a token or a certificate', async () => {
  const { ask, runs } = start(
    async ({ environment, parameters, stdout }) => {
      stdout.write(
        answer({
          token: `${parameters.join('+')} ${environment['KUBERNETES_EXEC_INFO']} ${environment['A']}`,
        }),
      )
      return 0
    },
    { environment: { A: 'b' }, cluster: { server: 'https://h' } },
  )
  const { headers } = await ask()
  const info =
    '{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1",' +
    '"spec":{"interactive":false,"cluster":{"server":"https://h"}}}'
  assert.equal(headers['authorization'], `Bearer -x+y ${info} b`)
  await ask()
  assert.equal(runs(), 1)
  const withCertificate = start(program(answer({ clientCertificateData: 'cert', clientKeyData: 'key' })))
  assert.deepEqual(await withCertificate.ask(), { headers: {}, certificate: { cert: 'cert', key: 'key' } })
})

test('an exec plugin runs once for concurrent requests, and again when its result expires or is rejected', async () => {
  const { ask, runs, simulation, credentials } = start(async ({ stdout, platform }) => {
    await platform.clock.sleep(100)
    stdout.write(answer({ token: 't', expirationTimestamp: '2026-01-01T01:00:00Z' }))
    return 0
  })
  const [first, second] = await simulation.run(
    Promise.all([credentials.current(signal), credentials.current(signal)]),
  )
  assert.equal(first, second)
  assert.equal(runs(), 1)
  await simulation.advance(3_590_000)
  await ask()
  assert.equal(runs(), 1)
  await simulation.advance(20_000)
  const later = await ask()
  assert.equal(runs(), 2)
  assert.equal(credentials.onUnauthorized(later), true)
  await ask()
  assert.equal(runs(), 3)
  credentials.onUnauthorized(first)
  await ask()
  assert.equal(runs(), 4, 'it has expired as soon as it comes')
})

test('errors of an exec plugin name the plugin and the reason', async () => {
  const check = (output: string, message: RegExp): Promise<void> =>
    assert.rejects(start(program(output)).ask(), message)
  await check('nothing', /^CredentialsError: getting credentials: decoding stdout: couldn't get version/)
  await check('[]', /expected kind ExecCredential, got undefined/)
  await check('null', /got undefined/)
  await check(
    JSON.stringify({ kind: 'ExecCredential', apiVersion: 'other' }),
    /is configured to use API version client.authentication.k8s.io\/v1, plugin returned version other/,
  )
  await check(answer(null), /exec plugin didn't return a status field/)
  await check(answer({ token: '' }), /exec plugin didn't return a token or cert\/key pair/)
  await check(answer({ token: 5, clientCertificateData: 'x' }), /returned only certificate or key, not both/)
  await check(answer({ token: 't', expirationTimestamp: 'soon' }), /invalid expirationTimestamp/)
  await check('x'.repeat(1_100_000), /output of executable login exceeds 1048576 bytes/)
  const failing = start(async ({ stderr }) => {
    stderr.write('please log in')
    return 3
  })
  await assert.rejects(failing.ask(), /exec: executable login failed with exit code 3: please log in/)
  await assert.rejects(
    start(program(''), { interactiveMode: 'Always' }).ask(),
    /exec plugin cannot support interactive mode: standard input is not a terminal/,
  )
  await assert.rejects(
    start(program(''), { command: ['missing'], installHint: 'get it' }).ask(),
    /executable missing not found\n\nget it/,
  )
  const slow = start(async ({ platform }) => {
    await platform.clock.sleep(3_600_000)
    return 0
  })
  await assert.rejects(slow.ask(), /executable login timed out/)
})

test('an exec plugin in the foreground gets stdin if its mode and the terminal allow it', async () => {
  const check = async (
    interactiveMode: ExecSettings['interactiveMode'],
    isTerminal: boolean,
    expected: InteractiveOptions['input'],
  ): Promise<void> => {
    const host = new Simulation({ seed: 1 }).host('a')
    const runs: InteractiveOptions[] = []
    const streams: PluginStreams = {
      stdin: { isTerminal },
      runInteractive: async (command, options = {}) => {
        assert.deepEqual(command, ['login'])
        runs.push(options)
        return { exit: { code: 0 }, status: 0, output: Buffer.from(answer({ token: 't' })) }
      },
    }
    const credentials = execCredentials(host, { ...settings, interactiveMode }, streams)
    assert.deepEqual((await credentials.current(signal)).headers, { authorization: 'Bearer t' })
    const info = JSON.parse(runs[0]!.environment!['KUBERNETES_EXEC_INFO']!) as { readonly spec: object }
    assert.deepEqual([runs[0]!.input, info.spec], [expected, { interactive: expected === 'inherit' }])
  }
  const settings = { apiVersion: 'client.authentication.k8s.io/v1', command: ['login'], environment: {} }
  await check('Never', true, 'nothing')
  await check('IfAvailable', true, 'inherit')
  await check('IfAvailable', false, 'nothing')
  await check('Always', true, 'inherit')
  await assert.rejects(check('Always', false, undefined), /standard input is not a terminal/)
})

function start(login: Program, settings: Partial<ExecSettings> = {}) {
  const simulation = new Simulation({ seed: 1 })
  let runs = 0
  simulation.program('login', process => {
    runs++
    return login(process)
  })
  const credentials = execCredentials(simulation.host('a'), {
    apiVersion: 'client.authentication.k8s.io/v1',
    command: ['login', '-x', 'y'],
    environment: {},
    interactiveMode: 'Never',
    ...settings,
  })
  return { simulation, credentials, runs: () => runs, ask: () => simulation.run(credentials.current(signal)) }
}

function program(output: string): Program {
  return async ({ stdout }) => {
    stdout.write(output)
    return 0
  }
}

function answer(status: unknown): string {
  return JSON.stringify({ kind: 'ExecCredential', apiVersion: 'client.authentication.k8s.io/v1', status })
}
