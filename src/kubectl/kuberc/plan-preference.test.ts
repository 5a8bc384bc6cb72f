import assert from 'node:assert/strict'
import { test } from 'node:test'
import { planPreference, type PreferenceChange } from './plan-preference.ts'
import type { Preference } from './preference.ts'

const empty: Preference = { defaults: [], aliases: [] }

const unchanged: PreferenceChange = {
  section: '',
  command: '',
  name: '',
  options: [],
  prependArgs: [],
  appendArgs: [],
  overwrite: false,
  policy: '',
  allowlistEntries: [],
}

const plan = (preference: Preference, change: Partial<PreferenceChange>): Preference =>
  planPreference(preference, { ...unchanged, ...change })

const wide = [{ name: 'output', default: 'wide' }]

test('defaults of a command are added, and replaced only when that is allowed', () => {
  const defaults = { section: 'defaults', command: 'get' }
  const set = plan(empty, { ...defaults, options: ['--output=wide'] })
  assert.deepEqual(set, { defaults: [{ command: 'get', options: wide }], aliases: [] })
  assert.throws(
    () => plan(set, { ...defaults, options: ['output=json'] }),
    /defaults for command "get" already exist, use --overwrite to replace/,
  )
  const replaced = plan(set, { ...defaults, overwrite: true, options: ['a=b=c'] })
  assert.deepEqual(replaced.defaults, [{ command: 'get', options: [{ name: 'a', default: 'b=c' }] }])
  assert.deepEqual(plan(set, { ...defaults, overwrite: true }), set)
  assert.throws(() => plan(empty, { ...defaults, options: ['x'] }), /invalid option format "x"/)
})

test('an alias keeps what is not given when it is replaced', () => {
  const alias = { section: 'aliases', name: 'getn', command: 'get' }
  const set = plan(empty, { ...alias, options: ['output=wide'], prependArgs: ['nodes'] })
  const expected = { name: 'getn', command: 'get', prependArgs: ['nodes'], options: wide }
  assert.deepEqual(set.aliases, [expected])
  assert.throws(() => plan(set, alias), /alias "getn" already exists, use --overwrite to replace/)
  const replaced = plan(set, { ...alias, command: 'describe', appendArgs: ['x'], overwrite: true })
  assert.deepEqual(replaced.aliases, [{ ...expected, command: 'describe', appendArgs: ['x'] }])
})

test('a policy without allowlist removes the allowlist', () => {
  const section = 'credentialplugin'
  const allowing = plan(empty, { section, policy: 'Allowlist', allowlistEntries: ['command=a,command=b'] })
  assert.deepEqual(allowing, {
    ...empty,
    credentialPluginPolicy: 'Allowlist',
    credentialPluginAllowlist: [{ command: 'a' }, { command: 'b' }],
  })
  assert.deepEqual(plan(allowing, { section, policy: 'DenyAll' }), {
    ...empty,
    credentialPluginPolicy: 'DenyAll',
  })
  for (const [entry, message] of Object.entries({
    'x': 'improperly formatted allowlist entry: "x"',
    'name=x': 'allowlist entry field "name" is deprecated, use "command" instead',
    'bogus=x': 'unrecognized allowlist entry field: "bogus"',
    'command=': 'empty value in allowlist entry for field "command"',
  })) {
    assert.throws(() => plan(empty, { section, policy: 'Allowlist', allowlistEntries: [entry] }), { message })
  }
})
