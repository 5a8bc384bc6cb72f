import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { test } from 'node:test'
import { nodeCrypto, nodePlatform } from '#/platform/node.ts'
import { ensureWebhookCertificates, type WebhookCertificates } from './webhook-certificates.ts'

const dayMs = 24 * 3_600_000
const names = ['hooks.shop.svc', '127.0.0.1']

function optionsAt(days: number) {
  const real = nodePlatform({ log: { level: 'error', format: 'text' } })
  const nowMs = 1_790_000_000_000 + days * dayMs
  return { platform: { ...real, clock: { ...real.clock, now: () => nowMs } }, crypto: nodeCrypto() }
}

function ensureAt(
  days: number,
  existing?: WebhookCertificates,
  more: readonly string[] = [],
): Promise<WebhookCertificates> {
  return ensureWebhookCertificates(optionsAt(days), { name: 'shop', names: [...names, ...more], existing })
}

function authoritiesOf({ caBundle }: WebhookCertificates): readonly X509Certificate[] {
  return caBundle
    .split(/(?<=-----END CERTIFICATE-----\n)/)
    .filter(pem => pem !== '')
    .map(pem => new X509Certificate(pem))
}

const isTrusted = (certificate: string, bundle: WebhookCertificates): boolean => {
  const leaf = new X509Certificate(certificate)
  return authoritiesOf(bundle).some(ca => leaf.checkIssued(ca) && leaf.verify(ca.publicKey))
}

test('a certificate is for all names, and kept until it expires soon or the names change', async () => {
  const first = await ensureAt(0)
  const leaf = new X509Certificate(first.cert)
  assert.ok(leaf.checkHost('hooks.shop.svc'))
  assert.ok(leaf.checkIP('127.0.0.1'))
  assert.ok(isTrusted(first.cert, first))
  assert.equal(await ensureAt(300, first), first)
  const renewed = await ensureAt(340, first)
  assert.notEqual(renewed.cert, first.cert)
  assert.equal(renewed.caBundle, first.caBundle)
  const further = await ensureAt(1, first, ['hooks.shop.svc.cluster.local'])
  assert.ok(new X509Certificate(further.cert).checkHost('hooks.shop.svc.cluster.local'))
  const mended = await ensureAt(1, { ...first, caBundle: 'x', cert: 'y' })
  assert.ok(isTrusted(mended.cert, mended))
})

test('an authority is rotated so that each certificate is trusted with the bundle published before it', async () => {
  let current = await ensureAt(0)
  let rotations = 0
  for (let days = 0; days < 11_000; days += 20) {
    const next = await ensureAt(days, current)
    const isNewCertificate = next.cert !== current.cert
    assert.ok(!isNewCertificate || isTrusted(next.cert, current), `day ${days}`)
    assert.ok(isTrusted(next.cert, next), `day ${days}`)
    assert.ok(authoritiesOf(next).length <= 2)
    if (next.caKey !== current.caKey) rotations++
    current = next
  }
  assert.equal(rotations, 3)
})
