import type { CertificateSigningRequest } from '#/api/generated/certificates/v1.ts'
import { humanDuration } from '#/api/text/duration.ts'
import type { DescribeContext, Describer } from './describer.ts'
import type { DescribeWriter } from './describe-writer.ts'
import { describeEvents } from './sections/events.ts'
import { mapText } from './sections/metadata.ts'
import { localTime } from './sections/times.ts'

export const describeCertificateSigningRequest: Describer<CertificateSigningRequest> = async (
  request,
  context,
) => {
  const { metadata, spec } = request
  const { expirationSeconds } = spec
  const content = await readRequest(spec.request)
  context.writer.fields(0, [
    ['Name', metadata.name ?? ''],
    ['Labels', mapText(metadata.labels)],
    ['Annotations', mapText(metadata.annotations)],
    ['CreationTimestamp', localTime(metadata.creationTimestamp, context)],
    ['Requesting User', spec.username ?? ''],
    ['Signer', spec.signerName || undefined],
    [
      'Requested Duration',
      expirationSeconds === undefined ? undefined : humanDuration(expirationSeconds * 1_000),
    ],
    ['Status', statusText(request)],
  ])
  describeContent(content, context)
  await describeEvents(request, context)
}

function statusText({ status = {} }: CertificateSigningRequest): string {
  const types = (status.conditions ?? []).map(({ type }) => type)
  const decision = types.includes('Denied') ? 'Denied' : types.includes('Approved') ? 'Approved' : 'Pending'
  return [
    decision,
    ...(types.includes('Failed') ? ['Failed'] : []),
    ...(status.certificate ? ['Issued'] : []),
  ].join(',')
}

interface RequestContent {
  /** The values of an attribute of the subject, by its abbreviation or identifier. */
  readonly subject: (attribute: string) => readonly string[]
  readonly names: readonly { readonly type: string; readonly value: string }[]
}

async function readRequest(base64: string): Promise<RequestContent> {
  const text = Buffer.from(base64, 'base64').toString('latin1')
  const [pem, type] = /-----BEGIN ([A-Z0-9 ]+)-----[^-]*-----END [A-Z0-9 ]+-----/.exec(text) ?? []
  if (pem === undefined || type !== 'CERTIFICATE REQUEST') {
    throw new Error('Error parsing CSR: PEM block type must be CERTIFICATE REQUEST')
  }
  // Loaded on demand: the library is slow to load.
  await import('reflect-metadata')
  const { Pkcs10CertificateRequest, SubjectAlternativeNameExtension } = await import('@peculiar/x509')
  try {
    const { subjectName, extensions } = new Pkcs10CertificateRequest(pem)
    const names = [...extensions]
      .filter(extension => extension instanceof SubjectAlternativeNameExtension)
      .flatMap(extension => extension.names.toJSON())
    return { subject: attribute => subjectName.getField(attribute), names }
  } catch (cause) {
    throw new Error('Error parsing CSR: malformed certificate request', { cause })
  }
}

function describeContent({ subject, names }: RequestContent, { writer }: DescribeContext): void {
  writer.write(0, 'Subject:\n')
  writer.rows(0, [
    ['', 'Common Name:', subject('CN').at(-1) ?? ''],
    ['', 'Serial Number:', subject('2.5.4.5').at(-1) ?? ''],
  ])
  for (const [label, attribute] of subjectAttributes) describeValues(writer, label, subject(attribute))
  const shown = names.filter(({ type }) => nameTypes.some(([, shownType]) => shownType === type))
  if (shown.length === 0) return
  writer.write(0, 'Subject Alternative Names:\n')
  for (const [label, wanted] of nameTypes) {
    const values = shown.filter(({ type }) => type === wanted).map(({ value }) => value)
    describeValues(writer, label, values)
  }
}

const subjectAttributes = [
  ['Organization', 'O'],
  ['Organizational Unit', 'OU'],
  ['Country', 'C'],
  ['Locality', 'L'],
  ['Province', 'ST'],
  ['StreetAddress', '2.5.4.9'],
  ['PostalCode', '2.5.4.17'],
] as const

const nameTypes = [
  ['DNS Names', 'dns'],
  ['Email Addresses', 'email'],
  ['URIs', 'url'],
  ['IP Addresses', 'ip'],
] as const

/** The first value is beside the label, the others are below it. */
function describeValues(writer: DescribeWriter, label: string, values: readonly string[]): void {
  writer.rows(
    0,
    values.map((value, index) => ['', ...(index === 0 ? [`${label}:`] : ['']), value]),
  )
}
