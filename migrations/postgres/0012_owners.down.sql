DROP TABLE place_marks;
DROP TABLE post_offices;
