import { test } from 'node:test'
import { columnsUnderTest } from '../testdata/check-columns.ts'

const group = 'certificates.k8s.io'

test('the CSR table shows requestor and condition', () => {
  const { row, check } = columnsUnderTest(group, 'CertificateSigningRequest')
  row({}, 'a', '5m', '<none>', '', '<none>', 'Pending')
  row(
    { spec: { signerName: 'x/y', username: 'eve', expirationSeconds: 86_400 } },
    'a',
    '5m',
    'x/y',
    'eve',
    '24h',
    'Pending',
  )
  const condition = (text: string, types: readonly string[], certificate?: string): void =>
    check(
      { status: { certificate, conditions: types.map(type => ({ type, status: 'True' })) } },
      { Condition: text },
    )
  condition('Approved', ['Approved'])
  condition('Approved,Issued', ['Approved'], 'eA==')
  condition('Denied', ['Approved', 'Denied'])
  condition('Approved,Failed', ['Failed', 'Approved'])
  condition('Pending,Issued', [], 'eA==')
})

test('tables of ClusterTrustBundle and PodCertificateRequest show the signer', () => {
  const bundles = columnsUnderTest(group, 'ClusterTrustBundle')
  bundles.row({}, 'a', '<none>')
  bundles.row({ spec: { signerName: 'x/y' } }, 'a', 'x/y')
  const requests = columnsUnderTest(group, 'PodCertificateRequest')
  requests.row({}, 'a', '', '', '', '', 'Pending', '<none>')
  requests.row(
    {
      spec: {
        podName: 'p',
        serviceAccountName: 's',
        nodeName: 'n',
        signerName: 'x/y',
        unverifiedUserAnnotations: { 'x/b': '2', 'x/a': '1' },
      },
      status: { conditions: [{ type: 'x' }, { type: 'Denied' }] },
    },
    'a',
    'p',
    's',
    'n',
    'x/y',
    'Denied',
    'x/a=1,x/b=2',
  )
})
