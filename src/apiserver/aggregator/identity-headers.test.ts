import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { UserInfo } from '../request.ts'
import { identityHeaders } from './identity-headers.ts'

test('the headers of a front proxy identify the user', () => {
  const check = (user: UserInfo, expected: object): void => assert.deepEqual(identityHeaders(user), expected)
  check({ username: 'ann', groups: [] }, { 'x-remote-user': 'ann' })
  check(
    {
      username: 'system:serviceaccount:a:b',
      uid: '7',
      groups: ['system:authenticated', 'one, two'],
      extra: { 'authentication.kubernetes.io/pod-name': ['p'], 'Scopes%': ['x', 'y'] },
    },
    {
      'x-remote-user': 'system:serviceaccount:a:b',
      'x-remote-uid': '7',
      'x-remote-group': ['system:authenticated', 'one, two'],
      'x-remote-extra-authentication.kubernetes.io%2Fpod-name': ['p'],
      'x-remote-extra-scopes%25': ['x', 'y'],
    },
  )
  const [utf8] = [Buffer.from('Jürgen').toString('latin1')]
  check({ username: 'Jürgen', groups: ['Jürgen'] }, { 'x-remote-user': utf8, 'x-remote-group': [utf8] })
})
