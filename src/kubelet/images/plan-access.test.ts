import assert from 'node:assert/strict'
import { test } from 'node:test'
import { mustAttemptImagePull, recordPull, type ImagePulledRecord } from './plan-access.ts'
import type { PullCredential } from './pull-credentials.ts'

const repository = 'quay.io/me/it'

/** Parses `name/hash`. */
function credential(text: string): PullCredential {
  const [name = '', hash = ''] = text.split('/')
  return { username: '', password: '', hash, source: { namespace: 'default', name, uid: `uid-${name}` } }
}

/** A pull record with the given credentials, or with none. */
function pulled(...texts: readonly string[]): ImagePulledRecord {
  let record: ImagePulledRecord = { imageRef: 'id', lastUpdatedTime: '0', credentialMapping: {} }
  for (const text of texts) {
    const given = text === 'none' ? {} : { credential: credential(text) }
    record = recordPull(record, { imageRef: 'id', repository, now: '1', ...given }) ?? record
  }
  return record
}

test('a present image may be used by pods with matching pull records', () => {
  const cases: readonly [
    record: ImagePulledRecord | undefined,
    hasPullIntent: boolean,
    has: string[],
    expected: boolean,
  ][] = [
    [undefined, false, [], true],
    [undefined, true, [], false],
    [undefined, true, ['a/1'], false],
    [pulled(), false, [], false],
    [pulled('none'), false, [], true],
    [pulled('a/1'), false, [], false],
    [pulled('a/1'), false, ['a/1'], true],
    [pulled('a/1'), false, ['a/2'], true],
    [pulled('a/1'), false, ['b/1'], true],
    [pulled('a/1'), false, ['b/2'], false],
    [pulled('a/1'), false, ['b/2', 'a/1'], true],
    [pulled('a/1', 'b/2'), false, ['b/2'], true],
    [pulled('a/1', 'none'), false, [], true],
    [pulled('a/'), false, ['b/'], false],
  ]
  for (const [record, hasPullIntent, has, expected] of cases) {
    const input = { ...(record && { record }), hasPullIntent, repository, credentials: has.map(credential) }
    assert.equal(!mustAttemptImagePull(input), expected, JSON.stringify([record, hasPullIntent, has]))
  }
  const other = { record: pulled('none'), hasPullIntent: false, repository: 'quay.io/other', credentials: [] }
  assert.equal(mustAttemptImagePull(other), true, 'the same image under another name')
})

test('a pull record is written only for new credentials', () => {
  const pull = (record: ImagePulledRecord, text: string): ImagePulledRecord | undefined => {
    return recordPull(record, { imageRef: 'id', repository, now: '2', credential: credential(text) })
  }
  assert.equal(pull(pulled('a/1'), 'a/1'), undefined)
  assert.equal(pull(pulled('none'), 'a/1'), undefined)
  const secrets = pull(pulled('a/1', 'b/2'), 'a/3')?.credentialMapping[repository]?.kubernetesSecrets
  assert.deepEqual(
    secrets?.map(({ name, credentialHash }) => `${name}/${credentialHash}`),
    ['b/2', 'a/3'],
  )
  const many = pulled(...Array.from({ length: 150 }, (_, index) => `s${index}/${index}`))
  assert.equal(many.credentialMapping[repository]?.kubernetesSecrets?.length, 100)
})
