import assert from 'node:assert/strict'
import { test } from 'node:test'
import { mergeKubeconfigs, type KubeconfigEdit } from '#/kubeconfig/kubeconfig.ts'
import { planPropertyChange } from './property-change.ts'

const kubeconfig = mergeKubeconfigs([
  {
    path: '/config',
    content: {
      clusters: [{ name: 'east', cluster: { server: 'https://h' } }],
      contexts: [{ name: 'a.b', context: { cluster: 'east', user: 'me' } }, { name: 'c' }],
      users: [{ name: 'me', user: { token: 't', exec: { command: 'x' } } }],
    },
  },
])

function plan(property: string, value?: string, isRaw = false): readonly KubeconfigEdit[] {
  return planPropertyChange(kubeconfig, { property, value, isRaw })
}

test('a value is set in the entry that its path names', () => {
  const check = (property: string, value: string, edit: unknown): void =>
    assert.deepEqual(plan(property, value), [edit], property)
  check('current-context', 'c', { section: 'current-context', value: 'c' })
  check('clusters.east.tls-server-name', 'n', {
    section: 'clusters',
    name: 'east',
    value: { 'server': 'https://h', 'tls-server-name': 'n' },
  })
  check('clusters.east.insecure-skip-tls-verify', 'true', {
    section: 'clusters',
    name: 'east',
    value: { 'server': 'https://h', 'insecure-skip-tls-verify': true },
  })
  check('users.new.token', 'x', { section: 'users', name: 'new', value: { token: 'x' } })
  check('users.new.as-groups', 'a,b', { section: 'users', name: 'new', value: { 'as-groups': ['a', 'b'] } })
  check('contexts.a.b.namespace', 'n', {
    section: 'contexts',
    name: 'a.b',
    value: { cluster: 'east', user: 'me', namespace: 'n' },
  })
  check('users.new.client-key-data', 'a2V5', {
    section: 'users',
    name: 'new',
    value: { 'client-key-data': 'a2V5' },
  })
  assert.deepEqual(plan('users.new.client-key-data', 'key', true), [
    { section: 'users', name: 'new', value: { 'client-key-data': 'a2V5' } },
  ])
  assert.deepEqual(plan('kind', 'x'), [])
})

test('a value, an entry or a section is removed', () => {
  assert.deepEqual(plan('current-context'), [{ section: 'current-context', value: '' }])
  assert.deepEqual(plan('clusters.east.server'), [{ section: 'clusters', name: 'east', value: {} }])
  assert.deepEqual(plan('users.me.exec'), [{ section: 'users', name: 'me', value: { token: 't' } }])
  assert.deepEqual(plan('contexts.a.b'), [{ section: 'contexts', name: 'a.b', value: undefined }])
  assert.deepEqual(plan('contexts.none'), [])
  assert.deepEqual(plan('contexts'), [
    { section: 'contexts', name: 'a.b', value: undefined },
    { section: 'contexts', name: 'c', value: undefined },
  ])
})

test('paths and values that are not valid are refused', () => {
  const check = (property: string, value: string | undefined, message: string): void => {
    assert.throws(() => plan(property, value), { message }, property)
  }
  check('bogus', 'x', 'unable to parse bogus after [] at api.Config')
  check('clusters.none.server', undefined, 'current map key `none` is invalid')
  check('users.me.exec.command', 'x', 'unable to parse one or more field values of users.me.exec.command')
  check('users.me.exec', 'x', 'unable to parse one or more field values of users.me.exec')
  const data = 'clusters.east.certificate-authority-data'
  check(data, 'abc', 'error decoding input value: illegal base64 data at input byte 0')
  check(data, 'YWI!', 'error decoding input value: illegal base64 data at input byte 3')
  check('clusters.east.insecure-skip-tls-verify', 'x', 'strconv.ParseBool: parsing "x": invalid syntax')
  for (const property of ['clusters', 'clusters.east', 'clusters.east.bogus']) {
    assert.throws(() => plan(property, 'x'), /^Error: can't set a map to a value: /)
  }
})
