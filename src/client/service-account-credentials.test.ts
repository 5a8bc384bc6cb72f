import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { test } from 'node:test'
import type { TokenReview } from '#/api/generated/authentication/v1.ts'
import { tokenReviews } from '#/api/generated/authentication/v1-resources.ts'
import { serviceAccounts } from '#/api/generated/core/v1-resources.ts'
import { startTestControlPlane } from '#/controllers/test-control-plane.ts'
import { ServiceAccountCredentials } from './service-account-credentials.ts'

const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const signingKey = privateKey.export({ type: 'pkcs8', format: 'pem' })
const authentication = { serviceAccounts: { url: 'https://issuer', signingKey } }

test('tokens are those of the service account, which is created, and are renewed before they expire', async t => {
  const plane = await startTestControlPlane(t, [], { authentication })
  const { client, platform, run } = plane
  const at = { namespace: 'kube-system', name: 'job-controller' }
  const credentials = new ServiceAccountCredentials({ client, clock: platform.clock, ...at })
  const token = async (): Promise<string> => {
    const { headers } = await run(credentials.current())
    return String(headers['authorization']).replace('Bearer ', '')
  }
  const [first, same] = [await token(), await token()]
  assert.equal(first, same)
  const userOf = async (given: string): Promise<string | undefined> => {
    const review: TokenReview = { metadata: {}, spec: { token: given } }
    return (await run(client.create(tokenReviews, review))).status?.user?.username
  }
  assert.equal(await userOf(first), 'system:serviceaccount:kube-system:job-controller')
  await plane.advance(40 * 60_000)
  assert.equal(await token(), first)
  await plane.advance(10 * 60_000)
  const second = await token()
  assert.notEqual(second, first)
  await run(client.delete(serviceAccounts, at))
  assert.equal(await userOf(second), undefined)
  assert.ok(credentials.onUnauthorized(await run(credentials.current())))
  assert.equal(await userOf(await token()), 'system:serviceaccount:kube-system:job-controller')
})
