/** Table columns of `internal.apiserver.k8s.io`. */
import { ageColumn, ageOf, nameColumn, nameOf } from '../../columns.ts'
import type { StorageVersion } from '../../generated/apiserverinternal/v1alpha1.ts'
import type { GroupColumns, KindColumns } from '../../table-columns.ts'
import { formatListWithMore, shownMax } from '../cell-text.ts'
import { textColumn } from '../make-column.ts'
import type { Unchecked } from '../validation/unchecked.ts'

const storageVersionColumns: KindColumns<StorageVersion> = {
  columns: [
    nameColumn,
    textColumn('CommonEncodingVersion', 'Encoding version common to all API servers.'),
    textColumn('StorageVersions', 'Encoding version of each API server.'),
    ageColumn,
  ],
  cells: (object: Unchecked<StorageVersion>) => [
    nameOf(object),
    object.status?.commonEncodingVersion ?? '<unset>',
    versionsText(object),
    ageOf(object),
  ],
}

function versionsText({ status }: Unchecked<StorageVersion>): string {
  const { storageVersions = [] } = status ?? {}
  const shown = storageVersions.slice(0, shownMax).map(({ apiServerID = '', encodingVersion = '' }) => {
    return `${apiServerID}=${encodingVersion}`
  })
  return formatListWithMore(shown, storageVersions.length) || '<unset>'
}

export const apiserverinternalColumns: GroupColumns = { StorageVersion: storageVersionColumns }
