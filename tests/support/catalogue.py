"""Catalogues: the schema of a database as lines of text. The order depends on names alone, so two schemas are equal exactly when
their texts are. PostgreSQL's major versions describe some things differently; these queries read only what is the same in 14 to 18."""
import sqlite3
from contextlib import closing

# Each gives one column of text. Comments are part of the schema: they contain the reasons.
POSTGRES = [
    """SELECT format('table %s%s', relname, ' with ' || array_to_string(reloptions, ', ')) FROM pg_class
       WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'p', 'v', 'm')""",
    """SELECT format('column %s.%s: %s%s%s%s%s', c.relname, a.attname, format_type(a.atttypid, a.atttypmod),
         CASE WHEN a.attnotnull THEN ' not null' END, ' default ' || pg_get_expr(d.adbin, d.adrelid),
         CASE a.attidentity WHEN 'a' THEN ' always identity' WHEN 'd' THEN ' identity' END,
         CASE WHEN a.attstorage <> t.typstorage THEN ' storage ' || a.attstorage::text END)
       FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped JOIN pg_type t ON t.oid = a.atttypid
       LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
       WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p')""",
    """SELECT format('constraint %s.%s: %s', c.relname, o.conname, pg_get_constraintdef(o.oid)) FROM pg_constraint o JOIN pg_class c
       ON c.oid = o.conrelid WHERE o.connamespace = current_schema()::regnamespace AND o.contype <> 'n'""",
    """SELECT format('index %s', replace(indexdef, ' ON ' || schemaname || '.', ' ON ')) FROM pg_indexes WHERE schemaname = current_schema()""",
    """SELECT format('comment on %s: %s', coalesce(c.relname || '.' || a.attname, c.relname), d.description) FROM pg_description d JOIN pg_class c
       ON c.oid = d.objoid AND d.classoid = 'pg_class'::regclass LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = d.objsubid AND d.objsubid > 0
       WHERE c.relnamespace = current_schema()::regnamespace""",
    """SELECT format('function %s', proname) FROM pg_proc WHERE pronamespace = current_schema()::regnamespace""",
    """SELECT format('trigger %s on %s', tgname, tgrelid::regclass) FROM pg_trigger WHERE NOT tgisinternal""",
]


def postgres_catalogue(postgres, database):
    """Every table, column, constraint, index and comment, a line each."""
    return "".join("".join(sorted(postgres.sql(" ".join(query.split()), database=database).splitlines(True))) for query in POSTGRES)


def sqlite_catalogue(file):
    """The statements as SQLite keeps them, comments in them included."""
    with closing(sqlite3.connect(file)) as database:
        rows = database.execute("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY tbl_name, type DESC, name").fetchall()
    return "".join(f"{sql};\n\n" for sql, in rows)
