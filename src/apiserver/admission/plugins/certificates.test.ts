import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Attributes, Authorizer } from '../../authz/authorizer.ts'
import { certificateApproval } from './certificate-approval.ts'
import { certificateSigning } from './certificate-signing.ts'
import { certificateSubjectRestriction } from './certificate-subject-restriction.ts'
import { administrator, developer, hiddenAdministrator, jane } from '../testdata/certificate-requests.ts'
import { outcome, startWith, type PluginServer } from '../testdata/plugin-server.ts'

const requests = '/apis/certificates.k8s.io/v1/certificatesigningrequests'

function certificateRequest(
  name: string,
  request: string,
  signerName = 'kubernetes.io/kube-apiserver-client',
): object {
  return {
    kind: 'CertificateSigningRequest',
    apiVersion: 'certificates.k8s.io/v1',
    metadata: { name },
    spec: { request, signerName, usages: ['client auth'] },
  }
}

/** Authorizer that allows only the listed `verb name` pairs on signers and records each check. */
function signersOnly(allowed: readonly string[], asked: string[] = []): Authorizer {
  return {
    authorize: (attributes: Attributes) => {
      assert.ok(
        attributes.isResource &&
          attributes.resource === 'signers' &&
          attributes.group === 'certificates.k8s.io',
      )
      const question = `${attributes.verb} ${attributes.name}`
      asked.push(question)
      return { decision: allowed.includes(question) ? 'allow' : 'no opinion', reason: '' }
    },
  }
}

test('CertificateSubjectRestriction: rejects requests for the group system:masters', async t => {
  const { create } = await startWith(t, certificateSubjectRestriction)
  const check = async (name: string, request: string, expected: string, signer?: string): Promise<void> => {
    assert.equal(await create(requests, certificateRequest(name, request, signer)), expected)
  }
  const refusal = (name: string): string =>
    `403 certificatesigningrequests.certificates.k8s.io "${name}" is forbidden: ` +
    'use of kubernetes.io/kube-apiserver-client signer with system:masters group is not allowed'
  await check('a', developer, 'ok')
  await check('b', administrator, refusal('b'))
  await check('c', hiddenAdministrator, refusal('c'))
  await check('d', administrator, 'ok', 'example.com/signer')
  const broken = Buffer.from(
    '-----BEGIN CERTIFICATE REQUEST-----\nAAAA\n-----END CERTIFICATE REQUEST-----\n',
  ).toString('base64')
  assert.match(
    await create(requests, certificateRequest('e', broken)),
    /^403 .* is forbidden: failed to parse CSR: unable to parse certificate request$/u,
  )
})

async function startWithRequest(
  t: Parameters<typeof startWith>[0],
  authorizer: Authorizer,
): Promise<PluginServer> {
  const server = await startWith(t, [certificateApproval, certificateSigning], { context: { authorizer } })
  await server.given(requests, certificateRequest('r', jane, 'example.com/a'))
  return server
}

const approved = [{ type: 'Approved', status: 'True', reason: 'x', message: 'y' }]

test('CertificateApproval: requires permission to approve for the signer or its domain', async t => {
  const check = async (allowed: readonly string[], expected: string): Promise<void> => {
    const asked: string[] = []
    const { request } = await startWithRequest(t, signersOnly(allowed, asked))
    const { body } = await request('GET', `${requests}/r`)
    const answer = await request('PUT', `${requests}/r/approval`, {
      ...body,
      status: { conditions: approved },
    })
    assert.equal(
      outcome(answer),
      expected === 'ok'
        ? 'ok'
        : `403 certificatesigningrequests.certificates.k8s.io "r" is forbidden: ${expected}`,
    )
    assert.equal(asked[0], 'approve example.com/a')
  }
  await check(['approve example.com/a'], 'ok')
  await check(['approve example.com/*'], 'ok')
  await check(
    ['sign example.com/a', 'approve example.com/b'],
    'user not permitted to approve requests with signerName "example.com/a"',
  )
})

test('CertificateSigning: setting a certificate requires permission to sign for the signer', async t => {
  const asked: string[] = []
  const server = await startWithRequest(t, signersOnly(['approve example.com/a'], asked))
  const { request } = server
  const { body } = await request('GET', `${requests}/r`)
  await request('PUT', `${requests}/r/approval`, { ...body, status: { conditions: approved } })
  const certificate = Buffer.from('-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n').toString(
    'base64',
  )
  const refused = await server.patch(`${requests}/r/status`, { status: { certificate } })
  assert.match(refused, /^403 .*: user not permitted to sign requests with signerName "example.com\/a"$/u)
  asked.length = 0
  assert.equal(await server.patch(`${requests}/r/status`, { metadata: { labels: { a: 'b' } } }), 'ok')
  assert.deepEqual(asked, [])
})
