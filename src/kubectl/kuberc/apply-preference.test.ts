import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Machine } from '../factory.ts'
import { applyPreference } from './apply-preference.ts'
import { readPreference, type Preference } from './preference.ts'

/** Preferences in short notation, applied to a command line. Returns it with the warnings. */
async function apply(preference: Partial<Preference>, line: string): Promise<string> {
  let warnings = ''
  const streams = { stderr: { write: (text: string) => void (warnings += text) } }
  const machine = { environment: {}, streams } as unknown as Machine
  const words = line.split(' ')
  const applied = await applyPreference({ defaults: [], aliases: [], ...preference }, { words, machine })
  return `${warnings}${applied.words.join(' ')}`
}

const option = (text: string) => {
  const [name = '', value = ''] = text.split('=')
  return { name, default: value }
}

const defaultsOf = (command: string, ...options: readonly string[]): Partial<Preference> => ({
  defaults: [{ command, options: options.map(option) }],
})

test('defaults are flags of their command unless the command line has them', async () => {
  const wide = defaultsOf('get', 'output=wide')
  const check = async (line: string, expected: string, preference = wide): Promise<void> =>
    assert.equal(await apply(preference, line), expected)
  await check('get pods', '--output=wide get pods')
  await check('-n shop get pods', '--output=wide -n shop get pods')
  for (const given of ['-o json', '-ojson', '--output json', '--output=json', '-wo json']) {
    await check(`get pods ${given}`, `get pods ${given}`)
  }
  await check('describe pods', 'describe pods')
  await check('bogus', 'bogus')
  await check('get pods', '--namespace=shop get pods', defaultsOf('get', 'namespace=shop'))
  const configmap = defaultsOf('create configmap', 'dry-run=client')
  await check('create configmap x', '--dry-run=client create configmap x', configmap)
  await check('create cm x', '--dry-run=client create cm x', configmap)
  await check('create secret generic x', 'create secret generic x', configmap)
  await check(
    'get x',
    'Warning: command "bogus" not found to set kuberc override\nget x',
    defaultsOf('bogus', 'x=y'),
  )
})

test('an alias is a command with flags and arguments', async () => {
  const alias = { name: 'getn', command: 'get', prependArgs: ['nodes'], options: [option('output=wide')] }
  const check = async (line: string, expected: string): Promise<void> =>
    assert.equal(await apply({ aliases: [{ ...alias, appendArgs: ['last'] }] }, line), expected)
  await check('getn', 'get --output=wide nodes last')
  await check('getn one', 'get --output=wide nodes one last')
  await check('-v 1 getn one -o name', '-v 1 get nodes one -o name last')
  await check('get getn', 'get getn')
  assert.equal(await apply({ aliases: [{ ...alias, name: 'get' }] }, 'get x'), 'get x')
  assert.equal(
    await apply({ aliases: [{ name: 'cc', command: 'create  configmap' }] }, 'cc x'),
    'create configmap x',
  )
})

test('preferences that are not valid are refused', async () => {
  const check = async (preference: Partial<Preference>, message: string, line = 'get x'): Promise<void> => {
    await assert.rejects(apply(preference, line), { message })
  }
  await check(defaultsOf('get', 'bogus=x'), 'invalid flag bogus for command get')
  await check(defaultsOf('get', '-o=x'), 'flag name -o should be in long form without dashes')
  await check(
    defaultsOf('get', 'watch=x'),
    'could not apply override value x to flag watch in command get err: ' +
      'invalid argument "x" for "-w, --watch" flag: strconv.ParseBool: parsing "x": invalid syntax',
  )
  const alias = { name: 'a', command: 'get' }
  await check(
    { aliases: [{ ...alias, name: 'a1' }] },
    'invalid alias name, can only include alphabetical characters',
  )
  await check({ aliases: [alias, alias] }, 'duplicate alias name a')
  const bogus = { aliases: [{ name: 'a', command: 'bogus x' }] }
  await check(bogus, 'command "bogus x" not found to set alias "a": [bogus x]', 'a')
  await check({ ...defaultsOf('a'), aliases: [alias] }, 'alias a can not be overridden', 'a')
  const list = [{ command: 'x' }]
  const denying = { credentialPluginPolicy: 'DenyAll', credentialPluginAllowlist: list }
  const misconfigured = 'misconfigured credential plugin allowlist:'
  await check(denying, `${misconfigured} plugin policy is "DenyAll" but allowlist is non-nil`)
  await check({ credentialPluginPolicy: 'x' }, 'unknown plugin policy: "x"')
  const allowing = { credentialPluginPolicy: 'Allowlist' }
  const unspecified = 'credential plugin policy set to "Allowlist", but allowlist is unspecified'
  await check(allowing, unspecified)
  await check({ ...allowing, credentialPluginAllowlist: [{}] }, `${misconfigured} empty allowlist entry #1`)
  await check(
    { ...allowing, credentialPluginAllowlist: [{ command: '/a//b/' }] },
    'non-normalized file path: "/a//b/" vs "/a/b"',
  )
})

test('the first usable document of a file counts, in any version', () => {
  const head = (version: string) => `apiVersion: kubectl.config.k8s.io/${version}\nkind: Preference\n`
  const read = (text: string) => readPreference(Buffer.from(text), 'f')
  const wide = { defaults: [{ command: 'get', options: [option('output=wide')] }], aliases: [] }
  const flags = '[{name: output, default: wide}]'
  const beta = `${head('v1beta1')}defaults: [{command: get, options: ${flags}}]\n`
  const alpha = `${head('v1alpha1')}overrides: [{command: get, flags: ${flags}}]\n`
  for (const text of [beta, alpha, `${head('v9')}x: 1\n---\n${alpha}---\n${beta}`, `a: [\n--- \n${beta}`]) {
    assert.deepEqual(read(text)?.preference, wide)
  }
  assert.equal(read('\n---\n'), undefined)
  assert.throws(() => read('kind: Pod\n'), /no valid preferences found in f/)
  assert.throws(() => read(`${head('v1beta1')}defaults: 3\n`), /no valid preferences/)
  assert.deepEqual(read(`${beta}bogus: 1\nkind: Preference\n`)?.strictErrors, [
    'yaml: unmarshal errors:\n  line 5: key "kind" already set in map',
    'unknown field "bogus"',
  ])
})
