/** Rules and table columns of `apiregistration.k8s.io`. */
import { ageColumn, ageOf, nameColumn, nameOf } from '../../columns.ts'
import { conditionOf } from '../../conditions.ts'
import type { APIService } from '../../generated/apiregistration/v1.ts'
import type { GroupColumns, KindColumns } from '../../table-columns.ts'
import { textColumn } from '../make-column.ts'
import type { Unchecked } from '../validation/unchecked.ts'
import type { GroupRules } from '../../kind-rules.ts'
import { apiServiceRules } from './api-service.ts'

export const apiregistrationRules: GroupRules = { APIService: apiServiceRules }

const apiServiceColumns: KindColumns<APIService> = {
  columns: [
    nameColumn,
    textColumn('Service', 'The reference to the service that hosts this API endpoint.'),
    textColumn('Available', 'Whether this service is available.'),
    ageColumn,
  ],
  cells: (object: Unchecked<APIService>) => {
    const service = object.spec?.service
    return [
      nameOf(object),
      service === undefined ? 'Local' : `${service.namespace ?? ''}/${service.name ?? ''}`,
      availability(object),
      ageOf(object),
    ]
  },
}

function availability({ status: { conditions = [] } = {} }: Unchecked<APIService>): string {
  const available = conditionOf(conditions, 'Available')
  const { status = '', reason = '' } = available ?? { status: 'Unknown' }
  return status === 'True' || reason === '' ? status : `${status} (${reason})`
}

export const apiregistrationColumns: GroupColumns = { APIService: apiServiceColumns }
